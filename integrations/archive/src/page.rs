//! A page: the part of a conversation to read.

/// A part of a conversation: some messages before or after a number.
///
/// ```
/// use cupel_archive::Page;
///
/// let first = Page::after(0, 50);    // the first 50
/// let next = Page::after(50, 50);    // those that follow number 50
/// let latest = Page::latest(50);     // the last 50
/// let back = Page::before(951, 50);  // those in front of number 951
/// # let _ = (first, next, latest, back);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Page {
    pub(crate) from: From,
    pub(crate) limit: u32,
}

/// Start of a page, and its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    After(i64),
    Before(i64),
}

impl Page {
    /// The messages that follow this number, at most `limit`.
    pub fn after(number: i64, limit: u32) -> Self {
        Self { from: From::After(number), limit }
    }

    /// The messages in front of this number, the nearest `limit`.
    pub fn before(number: i64, limit: u32) -> Self {
        Self { from: From::Before(number), limit }
    }

    /// The last messages, at most `limit`.
    pub fn latest(limit: u32) -> Self {
        Self::before(i64::MAX, limit)
    }
}
