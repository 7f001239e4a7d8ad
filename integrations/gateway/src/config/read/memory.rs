//! The table `archive`.

use cupel::config::{Fields, Path, Tree};

use super::mistakes::Mistakes;
use super::{Environment, secrets};
use crate::config::{Memory, Secret};

pub(super) fn read(
    tree: Tree,
    path: &Path<'_>,
    environment: Environment<'_>,
    mistakes: &mut Mistakes,
) -> Option<Memory> {
    let mut fields = Fields::open(tree, path, mistakes, "a table")?;
    let mut memory = Memory::new(Secret::new(""));
    memory.items = fields.or("items", memory.items);
    memory.deadline = fields.or("deadline_seconds", memory.deadline);
    memory.waiting_bytes = fields.or("waiting_bytes", memory.waiting_bytes);
    let url = fields.take("url");
    fields.close();
    let at = path.key("url");
    match url {
        // A password does not belong into this file.
        Some(tree) if tree.text().is_some_and(|text| text.starts_with("sqlite:")) => {
            memory.url = Secret::new(tree.text().unwrap_or_default());
        }
        Some(tree) if tree.text().is_none() => {
            memory.url = secrets::read(tree, &at, environment, mistakes)?;
        }
        _ => {
            let expected = "expected sqlite://file, or a table with env or file that holds \
                            postgres://user:password@host/database";
            mistakes.add(&at, expected);
            return None;
        }
    }
    Some(memory)
}
