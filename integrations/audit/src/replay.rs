//! A session, prepared for its replay: its messages as blocks, with their tokens.

use std::collections::{BTreeMap, HashMap};

use cupel::Policy;
use cupel_json::{CacheRule, Endpoint, JsonBody, Models};
use serde_json::value::RawValue;

use crate::blocks::{self, Block};
use crate::planner::{MeasuredRequest, Planner};
use crate::prices::{InputPrice, PriceTable};
use crate::prompt_cache::{CacheMatch, RenderedRequest};
use crate::session::Session;

/// Settings of an settings.
#[derive(Debug, Clone)]
pub(crate) struct ReplaySettings {
    pub(crate) windows: Vec<i64>,
    pub(crate) ways: Vec<(String, Policy)>,
    pub(crate) prices: PriceTable,
    pub(crate) planner: Planner,
    pub(crate) model: String,
    pub(crate) cache: Option<CacheMatch>,
}

/// A session, prepared for its replay.
pub(crate) struct SessionReplay<'a> {
    pub(crate) session: &'a Session,
    pub(crate) whole: MeasuredRequest,
    head: Block,
    blocks: Vec<Vec<Block>>,
    /// Position of each message by its text.
    positions: HashMap<&'a str, usize>,
    pub(crate) rule: CacheMatch,
    pub(crate) price: Option<InputPrice>,
}

impl<'a> SessionReplay<'a> {
    pub(crate) fn new(settings: &ReplaySettings, session: &'a Session) -> Result<Self, String> {
        let body = session.body(0..session.len()).ok_or("the request has no list of messages")?;
        let whole = settings.planner.measure(&body)?;
        let model = session.model().unwrap_or_default();
        let rule = settings.cache.unwrap_or_else(|| match session.endpoint {
            Endpoint::Messages => CacheMatch::Marks,
            _ => match Models::new().get(&model).map(|model| model.cache_rule()) {
                Ok(CacheRule::Breakpoints) => CacheMatch::Breakpoints,
                _ => CacheMatch::Prefix,
            },
        });
        let fields = session.fields.iter().map(|(name, value)| (name.as_str(), value.get()));
        let texts = session.items.iter().enumerate();
        Ok(Self {
            whole,
            head: blocks::head(fields),
            blocks: session
                .items
                .iter()
                .map(|item| blocks::blocks(session.endpoint, &item.json))
                .collect(),
            positions: texts.map(|(at, item)| (&*item.json, at)).collect(),
            rule,
            price: settings.prices.get(&model),
            session,
        })
    }

    /// Tokens of the whole request with so many messages.
    pub(crate) fn tokens(&self, known: usize) -> i64 {
        let messages = self.whole.messages.iter().take(known);
        messages.fold(self.whole.fixed, |sum, tokens| sum.saturating_add(*tokens))
    }

    pub(crate) fn render_whole(&self, known: usize) -> RenderedRequest {
        self.render_items(0..known)
    }

    pub(crate) fn render_items(&self, items: impl IntoIterator<Item = usize>) -> RenderedRequest {
        let mut rendered = self.render_head(&self.head);
        for at in items {
            if let (Some(blocks), Some(tokens)) = (self.blocks.get(at), self.whole.messages.get(at))
            {
                rendered.add(blocks, *tokens);
            }
        }
        rendered
    }

    fn render_head(&self, head: &Block) -> RenderedRequest {
        let mut rendered = RenderedRequest::default();
        // An empty block would lose its tokens.
        let text = if head.text.is_empty() { "\n".into() } else { head.text.clone() };
        rendered.add(&[Block { text, is_marked: head.is_marked }], self.whole.fixed);
        rendered
    }

    /// Renders a request that was planned. Messages that the session does not have are counted.
    pub(crate) fn render(
        &self,
        settings: &ReplaySettings,
        body: &JsonBody,
    ) -> Result<RenderedRequest, String> {
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(body.json()).map_err(|error| error.to_string())?;
        let head = blocks::head(fields.iter().map(|(name, value)| (name.as_str(), value.get())));
        let mut rendered = self.render_head(&head);
        let mut counted: Option<MeasuredRequest> = None;
        for (number, json) in body.messages().enumerate() {
            let known = self.positions.get(json).copied();
            let own = known.and_then(|at| self.blocks.get(at).zip(self.whole.messages.get(at)));
            if let Some((blocks, tokens)) = own {
                rendered.add(blocks, *tokens);
                continue;
            }
            if counted.is_none() {
                counted = Some(settings.planner.measure(body)?);
            }
            let tokens = counted.as_ref().and_then(|counted| counted.messages.get(number).copied());
            rendered.add(&blocks::blocks(self.session.endpoint, json), tokens.unwrap_or_default());
        }
        Ok(rendered)
    }
}
