//! Label of what a source gives: who wrote it, and when.

use std::fmt::Write;

use chrono::NaiveDate;

use crate::model::{ContextItem, ContextKind};

/// Name of the [source](ContextItem::source) whose items are archived messages. Only these can say that a
/// user wrote them.
const ARCHIVE: &str = "Archive";

/// Speaker and date of an item, as they stand behind the name of its source.
///
/// Speakers are those of archived messages, by their `role`. Only what a user said is not marked as
/// untrusted; results of tools beside a user's words have another kind than messages, and are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SourceLabel {
    speaker: Option<&'static str>,
    date: Option<NaiveDate>,
    is_user: bool,
}

impl SourceLabel {
    pub(super) fn of(item: &ContextItem) -> Self {
        let role = item.metadata().get("role").filter(|_| item.source().as_str() == ARCHIVE);
        let speaker = role.and_then(|role| {
            ["user", "assistant", "tool", "system"].into_iter().find(|speaker| role == speaker)
        });
        let date = item.timestamp().map(|time| time.date_naive());
        let is_user = speaker == Some("user") && *item.kind() == ContextKind::message();
        Self { speaker, date, is_user }
    }

    /// Adds it to a label that begins with the name.
    pub(super) fn write(self, out: &mut String) {
        if let Some(speaker) = self.speaker {
            out.push_str(", ");
            out.push_str(speaker);
        }
        if let Some(date) = self.date {
            // Writing to a string does not fail.
            let _ = write!(out, ", {}", date.format("%Y-%m-%d"));
        }
        if !self.is_user {
            out.push_str(", untrusted");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContextSource;
    use chrono::{DateTime, Utc};

    fn label(source: &str, role: &str, kind: ContextKind) -> String {
        let time: DateTime<Utc> = "2026-11-03T22:10:00Z".parse().unwrap();
        let item = ContextItem::builder("Hi.", 2)
            .kind(kind)
            .source(ContextSource::new(source).unwrap())
            .timestamp(time)
            .metadata_entry("role", role);
        let mut label = String::new();
        SourceLabel::of(&item.build().unwrap()).write(&mut label);
        label
    }

    #[test]
    fn only_a_users_archived_message_is_not_untrusted() {
        let message = ContextKind::message;
        assert_eq!(label("Archive", "user", message()), ", user, 2026-11-03");
        let others = [
            (label("Archive", "assistant", message()), ", assistant, 2026-11-03, untrusted"),
            (label("Archive", "tool", ContextKind::tool_output()), ", tool, 2026-11-03, untrusted"),
            (label("Archive", "user", ContextKind::tool_output()), ", user, 2026-11-03, untrusted"),
            (label("Archive", "root] [1", message()), ", 2026-11-03, untrusted"),
            (label("Rag", "user", message()), ", 2026-11-03, untrusted"),
        ];
        for (label, expected) in others {
            assert_eq!(label, expected);
        }
    }

    #[test]
    fn an_item_that_says_nothing_is_untrusted() {
        let mut label = String::new();
        SourceLabel::of(&ContextItem::new("Hi.", 2).unwrap()).write(&mut label);
        assert_eq!(label, ", untrusted");
    }
}
