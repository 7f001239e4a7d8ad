//! Age of items: by date, and by position where there are no dates.

use chrono::{DateTime, Utc};

use super::{ContextItem, ContextKind};

/// Orders items from the oldest to the newest; items with the same date are equally old.
///
/// An item without a date has that of the newest item before it and a number that counts up.
pub(crate) type Age = (Option<DateTime<Utc>>, u32);

/// The age of every item of a list in its order; none for items that have no place in time.
///
/// Items from sources stand after the request's own candidates in the list, but count as older.
pub(crate) fn ages<'a>(items: impl Iterator<Item = &'a ContextItem>) -> Vec<Option<Age>> {
    let items: Vec<&ContextItem> = items.collect();
    let mut ages: Vec<Option<Age>> = vec![None; items.len()];
    let mut newest = None;
    let mut undated = 0;
    for gathered in [true, false] {
        for (item, age) in items.iter().zip(&mut ages) {
            if item.is_gathered() != gathered {
                continue;
            }
            if let Some(date) = item.timestamp() {
                newest = newest.max(Some(date));
                *age = Some((Some(date), 0));
            } else if is_said(item.kind()) {
                undated += 1;
                *age = Some((newest, undated));
            }
        }
    }
    ages
}

/// Returns `true` if the position of such an item tells when it came up. The position of a document,
/// a memory or an instruction does not.
fn is_said(kind: &ContextKind) -> bool {
    ![ContextKind::document(), ContextKind::memory(), ContextKind::system_prompt()].contains(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, kind: ContextKind, date: Option<i64>) -> ContextItem {
        let mut item = ContextItem::builder(name, 1).kind(kind);
        if let Some(date) = date {
            item = item.timestamp(DateTime::from_timestamp(date, 0).unwrap());
        }
        item.build().unwrap()
    }

    fn oldest_first(items: &[ContextItem]) -> Vec<&str> {
        let mut aged: Vec<(Age, &str)> = ages(items.iter())
            .into_iter()
            .zip(items)
            .filter_map(|(age, item)| Some((age?, item.content())))
            .collect();
        aged.sort();
        aged.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn an_undated_item_follows_the_newest_dated_one_before_it() {
        let said = ContextKind::message;
        let items = [
            item("before all dates", said(), None),
            item("ten", said(), Some(10)),
            item("five", said(), Some(5)),
            item("after ten", said(), None),
            item("and after that", said(), None),
            item("eleven", said(), Some(11)),
            item("timeless", ContextKind::document(), None),
        ];
        assert_eq!(
            oldest_first(&items),
            ["before all dates", "five", "ten", "after ten", "and after that", "eleven"]
        );
    }

    #[test]
    fn what_a_source_gave_is_older_than_the_request() {
        let said = ContextKind::message;
        let mut items = [
            item("question", said(), None),
            item("history 1", said(), None),
            item("history 2", ContextKind::tool_output(), None),
        ];
        items[1].set_gathered(true);
        items[2].set_gathered(true);
        assert_eq!(oldest_first(&items), ["history 1", "history 2", "question"]);
    }
}
