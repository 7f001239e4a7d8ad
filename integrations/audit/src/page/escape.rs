//! Texts in HTML.

/// Text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let plain = text.replace('\0', "\u{fffd}").replace('&', "&amp;").replace('<', "&lt;");
    plain.replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
