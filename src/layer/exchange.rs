//! A plan that waits for an async judge, and the answers of an exchange, which stay as they were.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use crate::conversation::Conversation;
use crate::conversation::plan::TurnDraft;
use crate::gather::PlanAnswers;
use crate::model::ContextItem;
use crate::relevance::JudgeTask;
use crate::text_cache::{TextCache, TextKey};

/// Bytes of the answers that are kept. An exchange with 1,000 texts before the cut takes 16,000.
const BYTES: u64 = 4 << 20;

/// Answers of exchanges by the question. Those that were not asked for lately go first.
///
/// A call of a loop of tools asks the same question as the call before. If the judge was late then and is in
/// time now, its answers would change what is recalled, and with it the prefix that the provider has cached.
/// So the first answers stay while the same texts are before the cut, and so does it if there were none.
pub(super) struct ExchangeAnswers {
    cache: TextCache<Exchange, (u64, usize)>,
}

/// Answers about the texts of a plan; none if the judge had none.
pub(super) type KeptAnswers = Option<Arc<PlanAnswers>>;

/// Answers of the judge in an exchange.
#[derive(Clone)]
struct Exchange {
    /// The texts that it was asked about.
    texts: TextKey<(u64, usize)>,
    answers: KeptAnswers,
}

/// Parts of a plan that an async judge's answers are put into.
pub(super) struct OpenPlan {
    pub(super) draft: TurnDraft,
    /// The texts before the cut, and the question.
    pub(super) task: Arc<JudgeTask>,
    /// The candidates before they were planned.
    pub(super) own: Vec<ContextItem>,
    pub(super) exchange: ExchangeKey,
}

impl OpenPlan {
    /// The plan of a turn, with the candidates before they were planned.
    pub(super) fn new(
        answers: &ExchangeAnswers,
        talk: &Conversation,
        (draft, task): (TurnDraft, JudgeTask),
        mut own: Vec<ContextItem>,
    ) -> Self {
        let exchange = ExchangeKey::new(answers, talk, &draft, &task);
        own.iter_mut().for_each(|item| item.set_gathered(false));
        Self { draft, task: Arc::new(task), own, exchange }
    }
}

/// The question and the texts of a plan.
pub(super) struct ExchangeKey {
    /// The question, its place, and the beginning of the conversation.
    question: TextKey<(u64, usize)>,
    texts: TextKey<(u64, usize)>,
    /// True if nothing has been done since the question was asked.
    is_first: bool,
}

impl ExchangeKey {
    fn new(
        answers: &ExchangeAnswers,
        talk: &Conversation,
        draft: &TurnDraft,
        task: &JudgeTask,
    ) -> Self {
        let question = draft.question().unwrap_or_default();
        let hasher = foldhash::fast::FixedState::default();
        let tag = (hasher.hash_one(task.question().text()), question);
        let opening = task.candidates().first().map_or("", |first| first.text);
        Self {
            question: answers.cache.key(opening, tag),
            texts: answers.cache.key(task.all_texts(), tag),
            is_first: question + 1 >= talk.messages().len(),
        }
    }
}

impl ExchangeAnswers {
    /// Answers of the call before in the same exchange: none of them if the judge had none. None if the
    /// exchange begins, if it is not known, or if the judge has not seen all texts.
    pub(super) fn of_call_before(&self, key: &ExchangeKey) -> Option<KeptAnswers> {
        let known = self.cache.get(&key.question).filter(|_| !key.is_first)?;
        (known.answers.is_none() || known.texts == key.texts).then_some(known.answers)
    }

    /// Keeps the answers of a call for the rest of its exchange.
    pub(super) fn keep(&self, key: &ExchangeKey, answers: KeptAnswers) {
        let exchange = Exchange { texts: key.texts.clone(), answers };
        self.cache.insert(key.question.clone(), exchange);
    }
}

impl Default for ExchangeAnswers {
    fn default() -> Self {
        let weigh = |exchange: &Exchange| {
            exchange.answers.as_ref().map_or(0, |answers| size_of_val(&***answers))
        };
        Self { cache: TextCache::new(BYTES, 16 << 10, weigh) }
    }
}
