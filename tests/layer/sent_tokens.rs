//! The tokens that a selection says are sent, counted again on what is sent, for any counter.

use std::sync::Arc;

use cupel::conversation::{Conversation, Edits, Message, Role, Rules};
use cupel::gather::{BoxError, Source};
use cupel::layer::{ContextAdapter, CupelLayer, Selection, Split, Strategy};
use cupel::model::{RecallBy, TurnPlan};
use cupel::tokens::{HeuristicCounter, TokenCounter, counter_fn};
use cupel::{ContextBudget, ContextItem, Policy};
use proptest::prelude::*;

/// Tokens beside the messages.
const FIXED: i64 = 7;

fn counter(number: usize) -> Arc<dyn TokenCounter> {
    let bytes = |text: &str| i64::try_from(text.len()).unwrap();
    match number {
        0 => Arc::new(HeuristicCounter),
        // Joined, texts have fewer tokens than apart,
        1 => Arc::new(counter_fn("fewer", move |text| (bytes(text) as f64).powf(0.9) as i64)),
        // and with this one more.
        _ => Arc::new(counter_fn("more", move |text| (bytes(text) as f64 / 6.0).powf(1.2) as i64)),
    }
}

struct TalkAdapter(Arc<dyn TokenCounter>);

impl ContextAdapter<Vec<Message>> for TalkAdapter {
    type Rest = Vec<Message>;

    fn split(&self, mut talk: Vec<Message>, _: Strategy) -> Result<Split<Vec<Message>>, BoxError> {
        for message in &mut talk {
            message.tokens = self.0.count(&message.text);
            if message.role == Role::Tool {
                message.results = vec![message.tokens];
            }
        }
        let conversation = Conversation::new(talk.clone(), &Rules::new())?.counter(self.0.clone());
        Split::conversation(conversation, FIXED, talk)
    }

    fn join(&self, talk: Vec<Message>, edits: &mut Edits) -> Result<Vec<Message>, BoxError> {
        let write = |at: &usize| {
            let text = edits.excerpts.get(&(*at, 0)).map_or(&*talk[*at].text, |it| &*it.text);
            let standing = edits.standing().filter(|block| block.message == *at);
            let standing = standing.map(|block| Message::new(Role::User, &*block.text, 0));
            let quoted = edits.quotation.as_ref().filter(|it| it.message == *at);
            let quoted = quoted.map(|it| Message::new(Role::User, &*it.text, 0));
            // Parts are counted one by one.
            let own = Message::new(talk[*at].role, text, 0);
            standing.into_iter().chain(quoted).chain([own])
        };
        let mut sent: Vec<Message> = edits.kept.iter().flat_map(write).collect();
        sent.extend(edits.sources.as_ref().map(|text| Message::new(Role::User, &**text, 0)));
        Ok(sent)
    }
}

fn send(
    talk: &[Message],
    policy: &Policy,
    (window, sources): (i64, usize),
    counter: &Arc<dyn TokenCounter>,
) -> Option<(Vec<Message>, Selection)> {
    let layer = CupelLayer::builder()
        .adapter(TalkAdapter(counter.clone()))
        .policy(policy.clone())
        .budget(ContextBudget::builder(window).build().unwrap());
    let items = |number: usize| {
        let item = |at: usize| ContextItem::new(format!("{number}.{at} {}", text(at, 9)), 9);
        (0..6).map(|at| item(at).unwrap()).collect::<Vec<_>>()
    };
    let layer = (0..sources).fold(layer, |layer, number| {
        layer.source(Source::items(format!("source {number}"), items(number)))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let selected = runtime.block_on(layer.build().unwrap().selector().select(talk.to_vec()));
    selected.ok().map(cupel::layer::SelectedRequest::into_parts)
}

fn text(seed: usize, words: usize) -> String {
    const WORDS: [&str; 9] =
        ["build", "error", "the", "linker", "failed", "12,5", "größe", "in", "\u{1F9EA}"];
    let text: Vec<&str> = (0..words).map(|at| WORDS[(at * 7 + seed * seed) % 9]).collect();
    text.join(if seed % 5 == 0 { "\n" } else { " " })
}

fn talk(lengths: &[(usize, usize)]) -> Vec<Message> {
    let mut talk = vec![Message::new(Role::System, "You help with builds.", 0)];
    for (turn, (asked, result)) in lengths.iter().enumerate() {
        let order = if turn % 3 == 0 { "Always answer in French. " } else { "" };
        talk.push(Message::new(Role::User, format!("{order}{}", text(turn, *asked)), 0));
        let id = format!("call {turn}");
        talk.push(Message::new(Role::Assistant, text(turn + 3, 5), 0).calls(&id));
        talk.push(Message::new(Role::Tool, text(turn + 1, *result), 0).answers(&id));
        talk.push(Message::new(Role::Assistant, text(turn + 2, *asked), 0));
    }
    talk.push(Message::new(Role::User, "Which build failed?", 0));
    talk
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(256),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_sent_is_what_was_said_and_fits_the_window(
        lengths in prop::collection::vec((1..60_usize, 1..200_usize), 1..14),
        window in 150..2_500_i64,
        (sources, number) in (0..3_usize, 0..3_usize),
        (recall, policy) in (0.05..0.5_f64, 0..3_usize),
    ) {
        let plan = TurnPlan::new().recall(recall);
        let policy = match policy {
            0 => Policy::chat().with_plan(plan),
            1 => Policy::chat().with_plan(plan.recall_by(RecallBy::Policy)),
            _ => Policy::rag(),
        };
        let counter = counter(number);
        let sent = send(&talk(&lengths), &policy, (window, sources), &counter);
        let Some((sent, selection)) = sent else { return Ok(()) };
        let tokens: i64 = sent.iter().map(|message| counter.count(&message.text)).sum();
        let said = selection.sent.tokens + selection.fixed_tokens;
        let quotes = sent.iter().any(|message| message.text.starts_with("<recalled>"));
        if selection.plan.is_some() || sources == 0 || quotes {
            prop_assert_eq!(tokens + FIXED, said);
        } else {
            // The quotation's frame is fixed, even if no source gave anything.
            prop_assert!(tokens + FIXED <= said);
        }
        prop_assert!(said <= window, "{said} tokens in a window of {window}");
    }
}

#[test]
fn what_does_not_fit_when_quoted_together_is_listed_as_left_out() {
    let counter = counter(2);
    let lengths = vec![(30, 40); 12];
    let policy = Policy::chat().with_plan(TurnPlan::new().recall(0.3));
    let (_, selection) = send(&talk(&lengths), &policy, (1_200, 2), &counter).unwrap();
    let reasons = selection.report.excluded.iter().map(|it| it.reason.to_string());
    let withdrawn = reasons.filter(|it| it.contains("quoted together")).count();
    assert!(withdrawn > 0, "{:?}", selection.report.excluded);
    let plan = selection.plan.unwrap();
    assert!(plan.recalled_tokens > 0, "{plan:?}");
    let candidates = selection.report.total_candidates;
    assert_eq!(selection.sent.items, selection.report.included.len());
    assert_eq!(selection.sent.items + selection.sent.left_out, candidates);
}
