//! The table `page`.

use cupel::config::{Fields, Path, Tree};

use super::mistakes::Mistakes;
use crate::config::Page;

pub(super) fn read(tree: Option<Tree>, path: &Path<'_>, mistakes: &mut Mistakes) -> Page {
    let mut page = Page::default();
    let Some(mut fields) = tree.and_then(|tree| Fields::open(tree, path, mistakes, "a table"))
    else {
        return page;
    };
    page.bytes = fields.or("bytes", page.bytes);
    page.token_file = fields.maybe::<String>("token_file").map(Into::into);
    fields.close();
    page
}
