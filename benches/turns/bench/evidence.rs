//! Share of the evidence for a question in the request.

use cupel::model::TurnPlan;
use cupel::relevance::{Candidate, Judge, Lexical, Question};
use serde_json::{Value, json};

use crate::session::{Session, text_of};
use crate::ways::{Layered, Protocol};

/// The window of the questions.
pub const WINDOW: i64 = 4_000;

/// The shares of the evidence's tokens kept: by the plan, and by relevance alone in the tokens
/// reserved for recall. With summaries, the conversation was sent before, one message shorter each time.
pub fn shares(conversations: &[Value], share: f64, summarised: bool) -> (f64, f64) {
    let (mut planned, mut alone, mut all) = (0.0, 0.0, 0.0);
    let reserved = (WINDOW as f64 * share) as i64;
    for conversation in conversations {
        let items = conversation["items"].as_array().unwrap();
        for question in conversation["questions"].as_array().unwrap() {
            let ids: Vec<&str> =
                question["evidence"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let asked = question["question"].as_str().unwrap();
            let is_evidence = |at: usize| ids.contains(&items[at]["id"].as_str().unwrap());
            let session = session(items, asked);
            let tokens = |at: usize| session.messages[at].tokens;
            let evidence: Vec<usize> = (0..items.len()).filter(|at| is_evidence(*at)).collect();
            let could_fit = evidence.iter().map(|at| tokens(*at)).sum::<i64>().min(WINDOW) as f64;
            if evidence.is_empty() {
                continue;
            }
            all += 1.0;
            let plan = TurnPlan::new().recall(share);
            let known = session.messages.len();
            let mut layered = match summarised {
                false => Layered::planned(plan, WINDOW, "gpt-4o"),
                true => {
                    let mut layered = Layered::summarised(Protocol::Chat, WINDOW, "gpt-4o");
                    for known in (1..items.len()).filter(|known| known % 2 == 1) {
                        let _ = layered.call(&session, known);
                    }
                    layered
                }
            };
            let sent = layered.call(&session, known);
            let quoted: String = sent.messages.iter().map(text_of).collect();
            let is_kept =
                |at: &usize| sent.places.contains(at) || quoted.contains(&format!("\n[{at}] "));
            let kept = |is_kept: &dyn Fn(&usize) -> bool, most: f64| {
                let kept = evidence.iter().filter(|at| is_kept(at)).map(|at| tokens(*at));
                kept.sum::<i64>() as f64 / most.max(1.0)
            };
            planned += kept(&is_kept, could_fit).min(1.0);
            let best = best_first(&session, items.len(), asked, reserved);
            alone += kept(&|at| best.contains(at), could_fit).min(1.0);
        }
    }
    (planned / f64::max(all, 1.0), alone / f64::max(all, 1.0))
}

/// A conversation in which two take turns, and the question at its end.
fn session(items: &[Value], question: &str) -> Session {
    let role = |at: usize| if at % 2 == 0 { "user" } else { "assistant" };
    let messages = items.iter().enumerate();
    let mut messages: Vec<Value> =
        messages.map(|(at, item)| json!({"role": role(at), "content": item["text"]})).collect();
    messages.push(json!({"role": "user", "content": question}));
    Session::new(messages)
}

fn best_first(session: &Session, items: usize, question: &str, budget: i64) -> Vec<usize> {
    let messages = &session.messages[..items];
    let candidates = messages.iter().enumerate();
    let candidates: Vec<Candidate<'_>> =
        candidates.map(|(at, m)| Candidate::new(&m.text, m.tokens).at(at)).collect();
    let Some(verdict) = Lexical::new().judge(&Question::new(question), &candidates) else {
        return Vec::new();
    };
    let mut order: Vec<usize> = (0..items).collect();
    order.sort_by(|a, b| verdict.hints[*b].value().total_cmp(&verdict.hints[*a].value()));
    let mut left = budget;
    order.retain(|at| {
        let fits = verdict.hints[*at].value() > 0.0 && messages[*at].tokens <= left;
        left -= if fits { messages[*at].tokens } else { 0 };
        fits
    });
    order
}
