//! Orders of a conversation: repeats and retractions.

use cupel::standing::StandingOrders;

fn left(messages: &[&str]) -> Vec<(usize, String)> {
    let mut orders = StandingOrders::new();
    for (index, text) in messages.iter().enumerate() {
        orders.read(index, text);
    }
    orders.iter().map(|order| (order.message, order.text.clone())).collect()
}

fn order(message: usize, text: &str) -> (usize, String) {
    (message, text.to_owned())
}

#[test]
fn a_retraction_removes_the_rule_that_it_is_about() {
    let rules = ["Never use emojis.", "Always give exact versions.", "I prefer metric units."];
    for (retraction, removed) in [
        ("Forget the rule about emojis.", 0),
        ("You may use emojis again.", 0),
        ("You don't have to give versions any more.", 1),
        ("Forget what I said about metric units.", 2),
    ] {
        let expected: Vec<_> =
            (0..3).filter(|at| *at != removed).map(|at| order(at, rules[at])).collect();
        assert_eq!(left(&[rules[0], rules[1], rules[2], retraction]), expected, "{retraction}");
    }
}

#[test]
fn a_retraction_of_something_else_removes_nothing() {
    let rules = ["Never use emojis."];
    assert_eq!(left(&[rules[0], "Forget the rule about tabs."]), [order(0, rules[0])]);
    assert_eq!(left(&[rules[0], "You can run it again."]), [order(0, rules[0])]);
}

#[test]
fn both_stand_where_several_rules_could_be_meant() {
    let rules = ["Never use tabs in Python.", "Never use tabs in Rust."];
    let retraction = "You may use tabs again.";
    assert_eq!(
        left(&[rules[0], rules[1], retraction]),
        [order(0, rules[0]), order(1, rules[1]), order(2, retraction)]
    );
}

#[test]
fn a_rule_after_its_retraction_stands() {
    let messages = ["Never use tabs.", "You may use tabs again.", "Never use tabs."];
    assert_eq!(left(&messages), [order(2, "Never use tabs.")]);
}

#[test]
fn exact_repeats_stand_once() {
    let messages = ["Always give versions.", "Never use tabs.", "always give  versions!"];
    assert_eq!(left(&messages), [order(1, "Never use tabs."), order(2, "always give  versions!")]);
}

#[test]
fn a_marked_message_stands_whole() {
    let mut orders = StandingOrders::new();
    orders.mark(3, " The house style is in STYLE.md. It is short. ");
    let texts: Vec<&str> = orders.iter().map(|order| &*order.text).collect();
    assert_eq!(texts, ["The house style is in STYLE.md. It is short."]);
}
