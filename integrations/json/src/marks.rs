//! Where prompt caches may end: the places that the requests of a growing conversation share.

use cupel::conversation::Role;

/// How many messages stand before the places where a request and the next one begin to differ.
///
/// What is recalled stands in the user's last message, so the next question changes that message: all
/// before it stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stable {
    /// Before the question.
    pub(crate) question: Option<usize>,
    /// Before the previous one: what the request before may have left in a cache.
    pub(crate) previous: Option<usize>,
}

impl Stable {
    /// `opens` says which of the messages that are sent are a user's own.
    pub(crate) fn of(opens: &[bool]) -> Self {
        let question = opens.iter().rposition(|opens| *opens);
        let before = |question: usize| opens.get(..question)?.iter().rposition(|opens| *opens);
        let previous = question.and_then(before);
        Self { question: question.filter(|at| *at > 0), previous: previous.filter(|at| *at > 0) }
    }
}

/// What has to be known of a message that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) role: Role,
    /// Whether a user's own words are in it.
    pub(crate) opens: bool,
    /// Whether it can carry a breakpoint.
    pub(crate) can_be_marked: bool,
}

/// Breakpoints for a cache that matches only at them, exactly, and writes at one on the newest
/// message by itself, besides the latest three of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Breakpoints {
    /// At the end of the instructions: all that is left when the cut has moved.
    pub(crate) head: Option<usize>,
    /// Before the question: written for the next one.
    pub(crate) question: Option<usize>,
    /// Where the call before has written: in a tool loop its newest message, otherwise the place
    /// before the previous question.
    pub(crate) known: Option<usize>,
}

impl Breakpoints {
    /// Of the messages that are sent, in their order.
    pub(crate) fn of(sent: &[Place]) -> Self {
        let opens: Vec<bool> = sent.iter().map(|place| place.opens).collect();
        let stable = Stable::of(&opens);
        let can = |at: &usize| sent.get(*at).is_some_and(|place| place.can_be_marked);
        // Assistants' messages carry none: then the one before them does.
        let last_before = |end: usize| (0..end).rev().find(can);
        let instructions = sent.iter().take_while(|place| place.role == Role::System).count();
        let question = stable.question.and_then(last_before);
        let previous = stable.previous.and_then(last_before);
        Self {
            head: last_before(instructions),
            question,
            known: newest_before(sent, &opens).filter(can).or(previous),
        }
    }

    /// The messages that are marked.
    pub(crate) fn all(self) -> impl Iterator<Item = usize> {
        [self.head, self.question, self.known].into_iter().flatten()
    }
}

/// The newest message of the call before, if the same question was asked in it.
fn newest_before(sent: &[Place], opens: &[bool]) -> Option<usize> {
    let question = opens.iter().rposition(|opens| *opens)?;
    let by_model = |place: &Place| place.role == Role::Assistant;
    let answered = sent.iter().rposition(by_model)?;
    let others = sent.get(..answered)?.iter().rposition(|place| !by_model(place))?;
    Some(others).filter(|at| *at >= question)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `s`ystem, `u`ser, `a`ssistant, `t`ool.
    fn sent(roles: &str) -> Vec<Place> {
        let place = |role: char| Place {
            role: match role {
                's' => Role::System,
                'u' => Role::User,
                'a' => Role::Assistant,
                _ => Role::Tool,
            },
            opens: role == 'u',
            can_be_marked: role != 'a',
        };
        roles.chars().map(place).collect()
    }

    fn places(roles: &str) -> (Option<usize>, Option<usize>, Option<usize>) {
        let Breakpoints { head, question, known } = Breakpoints::of(&sent(roles));
        (head, question, known)
    }

    #[test]
    fn a_new_question_reads_what_was_written_before_the_previous_one() {
        assert_eq!(places("ssuauatau"), (Some(1), Some(6), Some(2)));
        // The call before wrote at the same place, before its own question.
        assert_eq!(places("ssua u".replace(' ', "").as_str()).1, Some(2));
    }

    #[test]
    fn a_loop_reads_what_was_written_on_the_newest_message_of_the_call_before() {
        assert_eq!(places("suauat"), (Some(0), Some(1), Some(3)));
        assert_eq!(places("suauatatt"), (Some(0), Some(1), Some(5)));
        assert_eq!(places("suauataatt"), (Some(0), Some(1), Some(5)));
    }

    #[test]
    fn there_are_none_where_nothing_can_carry_one() {
        assert_eq!(places("u"), (None, None, None));
        assert_eq!(places("uat"), (None, None, Some(0)));
        assert_eq!(places(""), (None, None, None));
        let mut bare = sent("suauat");
        bare.iter_mut().for_each(|place| place.can_be_marked = false);
        assert_eq!(Breakpoints::of(&bare), Breakpoints::default());
    }
}
