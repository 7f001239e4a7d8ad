//! Items of 40 to 79 tokens with their scores, in the order in which they arrive.

use cupel::ContextItem;

use cupel_dev::random::Random;

pub(crate) struct Arrival {
    pub(crate) item: ContextItem,
    pub(crate) score: f64,
}

#[derive(Clone, Copy)]
pub(crate) enum Order {
    Random,
    Falling,
    Rising,
}

/// Handles of forty items, one of each size: what counts here is not the texts.
pub(crate) fn arrivals(n: usize, order: Order) -> Vec<Arrival> {
    let sizes: Vec<ContextItem> =
        (40..80).map(|tokens| ContextItem::new("text", tokens).unwrap()).collect();
    let mut random = Random(42);
    let arrival = |_| Arrival { item: sizes[random.below(40)].clone(), score: random.unit() };
    let mut arrivals: Vec<Arrival> = (0..n).map(arrival).collect();
    let density = |arrival: &Arrival| arrival.score / arrival.item.tokens() as f64;
    match order {
        Order::Random => {}
        Order::Falling => arrivals.sort_by(|a, b| density(b).total_cmp(&density(a))),
        Order::Rising => arrivals.sort_by(|a, b| density(a).total_cmp(&density(b))),
    }
    arrivals
}

/// Items of about 100 bytes; one in ten repeats an earlier text, with a score of its own.
pub(crate) fn with_copies(n: usize) -> Vec<Arrival> {
    let mut random = Random(42);
    let mut arrivals: Vec<Arrival> = Vec::with_capacity(n);
    for i in 0..n {
        let score = random.unit();
        let builder = if i > 10 && random.below(10) == 0 {
            arrivals[random.below(i)].item.to_builder()
        } else {
            let text =
                format!("#{i} {}", "what the customer wrote about the late refund ".repeat(2));
            ContextItem::builder(text, 40 + random.below(40) as i64)
        };
        let item = builder.future_relevance_hint(score).build().unwrap();
        arrivals.push(Arrival { item, score });
    }
    arrivals
}
