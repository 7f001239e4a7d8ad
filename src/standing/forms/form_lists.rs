//! The lists that a language has.

/// Forms of one language.
pub(in crate::standing) struct Forms {
    /// Frequent words, by which the language is told from others.
    pub(in crate::standing) function_words: &'static [&'static str],
    /// Words at the beginning of a clause that change nothing.
    pub(in crate::standing) lead: &'static [&'static str],
    /// Phrases at the beginning of a clause that change nothing: by the way.
    pub(in crate::standing) asides: &'static [&'static str],
    /// Words behind which something else is described, so that `always` says nothing of the instruction:
    /// a function that never fails.
    pub(in crate::standing) relatives: &'static [&'static str],
    /// Words behind which a new clause begins.
    pub(in crate::standing) conjunctions: &'static [&'static str],
    /// Words that open a directive: always, never.
    pub(in crate::standing) always: &'static [&'static str],
    /// Tests if these words go on behind one of `always` as an instruction does, not a statement.
    pub(in crate::standing) goes_on: fn(&[&str]) -> bool,
    /// Tests if these words forbid something.
    pub(in crate::standing) forbids: fn(&[&str]) -> bool,
    /// Tests if these words begin with an imperative.
    pub(in crate::standing) commands: fn(&[&str]) -> bool,
    /// Phrases that open a clause with which a user addresses the assistant.
    pub(in crate::standing) addresses: &'static [&'static str],
    /// Phrases with which a user says what he wants. They count where he says when he asks.
    pub(in crate::standing) wishes: &'static [&'static str],
    /// Phrases that say when a user asks.
    pub(in crate::standing) asked: &'static [&'static str],
    /// Words in a clause that say that its instruction holds more than once.
    pub(in crate::standing) adverbs: &'static [&'static str],
    /// Phrases that say so and change nothing at the beginning of a clause: from now on.
    pub(in crate::standing) henceforth: &'static [&'static str],
    /// Other phrases anywhere in a sentence that say so.
    pub(in crate::standing) general: &'static [&'static str],
    /// Phrases that say that it holds once.
    pub(in crate::standing) once: &'static [&'static str],
    /// Phrases at the beginning of a sentence that say for which cases it holds: for any code you write.
    pub(in crate::standing) scopes: &'static [&'static str],
    /// Phrases with which a user asks for something: can you.
    pub(in crate::standing) requests: &'static [&'static str],
    /// Tests if a sentence that begins with these words is an instruction that no list has.
    pub(in crate::standing) instructs: fn(&[&str]) -> bool,
    /// Tests if a clause of these words states a preference that no list has.
    pub(in crate::standing) prefers: fn(&[&str]) -> bool,
    /// Phrases that make a directive of a sentence that they open.
    pub(in crate::standing) openings: &'static [&'static str],
    /// Phrases that state a preference.
    pub(in crate::standing) preferences: &'static [&'static str],
    /// The same words in statements, or about one choice.
    pub(in crate::standing) no_preferences: &'static [&'static str],
    /// Phrases that open a retraction.
    pub(in crate::standing) retractions: &'static [&'static str],
    /// Phrases that open one if the sentence also has one of `again`.
    pub(in crate::standing) permissions: &'static [&'static str],
    pub(in crate::standing) again: &'static [&'static str],
    /// Words that say nothing of what a rule is about.
    pub(in crate::standing) generic: &'static [&'static str],
}
