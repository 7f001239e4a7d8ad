//! One definition for both forms of an assertion: the one that panics and its `try_` form.

/// Defines assertions over a report.
///
/// The body answers `None` when the assertion holds, or else the message that follows its name.
macro_rules! assertions {
    ($(
        $(#[$doc:meta])*
        $title:literal: $name:ident, $try_name:ident $(<$life:lifetime>)?
        |$report:ident $(, $arg:ident: $type:ty)*| $body:block
    )+) => {
        #[allow(clippy::must_use_candidate)] // the last assertion of a chain ends a statement
        impl<'a> super::SelectionReportAssertionChain<'a> {
            $(
                $(#[$doc])*
                ///
                /// # Panics
                ///
                /// When it does not hold.
                #[track_caller]
                pub fn $name $(<$life>)? (self $(, $arg: $type)*) -> Self {
                    super::chain::or_panic(self.$try_name($($arg),*))
                }

                #[doc = concat!(
                    "As [`", stringify!($name), "`](Self::", stringify!($name),
                    "), but returns the failure."
                )]
                ///
                /// # Errors
                ///
                /// When it does not hold.
                pub fn $try_name $(<$life>)? (self $(, $arg: $type)*) -> super::Outcome<'a> {
                    let $report = self.report;
                    let check = || -> Option<String> { $body };
                    match check() {
                        None => Ok(self),
                        Some(problem) => {
                            Err(super::SelectionReportAssertionError::new($title, &problem))
                        }
                    }
                }
            )+
        }
    };
}

pub(super) use assertions;
