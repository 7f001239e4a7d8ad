//! Use of the question as data: the judge, and the settings for requests with a question.

use std::any::Any;
use std::sync::Arc;

use serde::Serialize;

use super::conversion::Conversion;
use super::meaning::{MeaningSpec, OpenedModel};
use super::nested::{NestedPart, NestedSpec};
use super::parts::{parts, setting};
use super::scorer::write_scorer;
use super::{ScorerSpec, SlicerSpec};
use crate::config::{Fields, FromTree, Path};
use crate::policy::Relevance;
use crate::policy::relevance::WaitingModel;
use crate::relevance::{Blend, Judge, Language, Lexical};

/// A judge, and the settings of a model that has to be waited for beside it.
type BuiltJudge = (Arc<dyn Judge>, Option<WaitingModel>);

parts! {
    /// A judge as data.
    ///
    /// | judge | keys; those in parentheses may be left out |
    /// | --- | --- |
    /// | `lexical` | (`language`): `english` (the default), `none`, or another [`Language`] |
    /// | `blend` | `words`, a judge; `meaning`, a [`MeaningSpec`]; (`weight`), the model's share from 0 to 1, 0.5 where left out |
    /// | `custom` | `name`: registered in a [`ScorerRegistry`](crate::policy::spec::ScorerRegistry) |
    pub enum JudgeSpec: "a judge" else Self::Lexical { language: Language::default() } => {
        /// [`Lexical`](crate::relevance::Lexical).
        "lexical" Lexical {
            /// The language whose endings do not matter.
            language: Language = Language::default(),
        },
        /// Words and a model together.
        "blend" Blend {
            /// The judge that compares words.
            words: NestedSpec<JudgeSpec> = NestedSpec::from(JudgeSpec::words()),
            /// The model.
            meaning: MeaningSpec,
            /// The model's share.
            weight: f64 = DEFAULT_WEIGHT,
        },
        /// A judge written in code.
        "custom" Custom {
            /// The name it is registered under.
            name: String,
        },
    }
}

/// Share of the model in a blend, where a file does not say it.
const DEFAULT_WEIGHT: f64 = 0.5;

impl NestedPart for JudgeSpec {
    fn depth(&self) -> usize {
        match self {
            Self::Blend { words, .. } => 2.max(1 + words.depth()),
            _ => 1,
        }
    }
}

/// The use of the question as data: the keys of a [`JudgeSpec`], and these.
///
/// | key | value |
/// | --- | --- |
/// | (`blend`) | the judge's share in the hint of an item that came with one; 0 where left out |
/// | (`scorers`, `scorer`) | as those of a policy: how to score when there is a question |
/// | (`slicer`) | how to fill the budget when there is a question |
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RelevanceSpec {
    /// The judge.
    #[serde(flatten)]
    pub judge: JudgeSpec,
    /// The judge's share in the hint of an item that came with one.
    pub blend: f64,
    /// Scorer for calls with a question; the policy's own if none.
    #[serde(flatten, serialize_with = "write_optional_scorer")]
    pub scorer: Option<ScorerSpec>,
    /// Slicer for calls with a question; the policy's own if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slicer: Option<SlicerSpec>,
}

impl RelevanceSpec {
    /// Judges, and leaves everything else as it is.
    pub fn new(judge: JudgeSpec) -> Self {
        Self { judge, blend: 0.0, scorer: None, slicer: None }
    }
}

fn write_optional_scorer<S: serde::Serializer>(
    scorer: &Option<ScorerSpec>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match scorer {
        Some(scorer) => write_scorer(scorer, serializer),
        None => serializer.collect_map(std::iter::empty::<(&str, &str)>()),
    }
}

impl FromTree for RelevanceSpec {
    const EXPECTED: &'static str = "a judge";
    const IS_PART: bool = true;

    fn from_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let judge = JudgeSpec::from_fields(fields)?;
        // `scorers` is a weighted average, `scorer` is one scorer as it is; one of them is enough.
        let average = fields.maybe("scorers").map(|scorers| ScorerSpec::Composite { scorers });
        let single = if average.is_none() { fields.maybe("scorer") } else { None };
        Some(Self {
            judge,
            blend: fields.or("blend", 0.0),
            scorer: single.or(average),
            slicer: fields.maybe("slicer"),
        })
    }

    fn stand_in(path: &Path<'_>) -> Self {
        Self::new(JudgeSpec::stand_in(path))
    }
}

impl RelevanceSpec {
    /// Use of the question that the spec describes, or a stand-in after a problem is recorded.
    pub(super) fn build(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> Relevance {
        let (judge, waiting) = self.judge.build(path, convert);
        let mut relevance = Relevance::new(judge).blend(self.blend);
        if matches!(self.judge, JudgeSpec::Blend { .. }) {
            relevance = relevance.written_as(Arc::new(self.judge.clone()), waiting);
        }
        if convert.check(path, relevance.check()).is_none() {
            relevance = relevance.blend(0.0);
        }
        if let Some(scorer) = &self.scorer {
            relevance = relevance.scorer(scorer.build(&scorer.path_in(path), convert));
        }
        if let Some(slicer) = &self.slicer {
            relevance = relevance.slicer(slicer.build(&path.key("slicer"), convert));
        }
        relevance
    }

    /// The spec of a policy's use of the question.
    pub(super) fn describe(
        relevance: &Relevance,
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> Self {
        let scorer = relevance.scorer.as_ref();
        let scorer = scorer.map(|scorer| ScorerSpec::describe_in(path, &**scorer, convert));
        let slicer = relevance.slicer.as_ref();
        let slicer =
            slicer.map(|slicer| SlicerSpec::describe(&**slicer, &path.key("slicer"), convert));
        let written = relevance.written.as_ref().and_then(|spec| spec.downcast_ref::<JudgeSpec>());
        let judge = match written {
            Some(written) => written.clone(),
            None => JudgeSpec::describe(&*relevance.judge, path, convert),
        };
        Self { judge, blend: relevance.blend, scorer, slicer }
    }
}

impl JudgeSpec {
    fn words() -> Self {
        Self::Lexical { language: Language::default() }
    }

    /// The judge, and the settings of one that has to be waited for.
    fn build(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> BuiltJudge {
        let judge: Arc<dyn Judge> = match self {
            Self::Lexical { language } => Arc::new(Lexical::in_language(*language)),
            Self::Blend { words, meaning, weight } => {
                return Self::build_blend((words, meaning, *weight), path, convert);
            }
            Self::Custom { name } => convert
                .registered(name, &path.key("name"), "judge", |it| &it.judges)
                .unwrap_or_else(|| Arc::new(Lexical::new())),
        };
        (judge, None)
    }

    fn build_blend(
        (words, meaning, weight): (&NestedSpec<Self>, &MeaningSpec, f64),
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> BuiltJudge {
        let at = path.key("words");
        let words = words.open(&at, convert);
        if matches!(words, Self::Blend { .. }) {
            convert
                .add(path.key("words"), "is a blend, expected a judge of words, such as lexical");
        }
        let (judge, _) = words.build(&at, convert);
        let at = path.key("meaning");
        meaning.check(&at, convert);
        if !(0.0..=1.0).contains(&weight) {
            convert.add(path.key("weight"), format!("must be from 0 to 1, got {weight}"));
            return (judge, None);
        }
        match meaning.open(&at, convert).map(|model| model.0) {
            None => (judge, None),
            Some(OpenedModel::Waiting(settings)) => {
                (judge, Some(WaitingModel { settings, weight }))
            }
            Some(OpenedModel::Judge(model)) => {
                let blend = Blend::new(Arc::clone(&judge), model).weight(weight);
                (convert.check(path, blend).map_or(judge, |blend| Arc::new(blend)), None)
            }
        }
    }

    fn describe(judge: &dyn Judge, path: &Path<'_>, convert: &mut Conversion<'_>) -> Self {
        if let Some(name) = convert.registry.and_then(|registry| registry.name_of_judge(judge)) {
            return Self::Custom { name: name.to_owned() };
        }
        if let Some(lexical) = judge.as_any().and_then(<dyn Any>::downcast_ref::<Lexical>) {
            return Self::Lexical { language: lexical.language() };
        }
        convert.not_registered(path, judge.name(), "judge");
        Self::stand_in(path)
    }
}
