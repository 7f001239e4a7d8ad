//! The cache of checked contracts: when it checks again, and when it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use cupel::contract::{CheckedContract, ContractCache};
use cupel::tokens::{TokenCounter, counter_fn};

use super::folder::{CHAT, CONFIG, Folder};

/// A folder with a parent, a cache over it, and the number of texts counted so far.
struct Cached<C> {
    folder: Folder,
    cache: ContractCache<C>,
    counted: Arc<AtomicUsize>,
}

fn cached() -> Cached<impl TokenCounter> {
    let folder = Folder::good()
        .with("pipelines/base.yaml", CHAT)
        .with("pipelines/chat.yaml", "extends: base\nsettings: { max_context_tokens: 5000 }")
        .with("prompts/unused.txt", "nobody reads this");
    let counted = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&counted);
    let counter = counter_fn("words", move |text| {
        calls.fetch_add(1, Ordering::Relaxed);
        text.split_whitespace().count() as i64
    });
    Cached { cache: ContractCache::new(folder.open(), counter), folder, counted }
}

impl<C: TokenCounter> Cached<C> {
    fn get(&self) -> Arc<CheckedContract> {
        self.cache.get("chat").unwrap()
    }

    /// Returns true if the contract is checked again after `change`.
    fn rechecked(&self, change: impl FnOnce(&Folder)) -> bool {
        let before = self.get();
        let counted = self.counted.load(Ordering::Relaxed);
        change(&self.folder);
        let same = Arc::ptr_eq(&before, &self.get());
        // A contract that is reused costs no counting.
        assert_eq!(same, self.counted.load(Ordering::Relaxed) == counted);
        !same
    }
}

#[test]
fn nothing_changed_so_nothing_is_done() {
    let cached = cached();
    assert!(!cached.rechecked(|_| {}));
    // Two prompts, two templates, and two roles in each of two steps.
    assert_eq!(cached.counted.load(Ordering::Relaxed), 8);
}

#[test]
fn a_change_of_any_input_is_noticed() {
    for (file, content) in [
        ("pipelines/chat.yaml", "extends: base\nsettings: { max_context_tokens: 5001 }"),
        ("pipelines/base.yaml", &CHAT.replace("1200", "1300")),
        ("prompts/router.txt", "route the question well"),
        ("prompts/answer.md", "answer from the evidence onlY"), // of the same length
        ("config.json", &CONFIG.replace("10000", "10001")),
    ] {
        let cached = cached();
        assert!(cached.rechecked(|folder| folder.write(file, content)), "{file}");
        assert!(!cached.rechecked(|_| {}), "{file}");
    }
}

#[test]
fn the_new_contract_has_the_new_values() {
    let cached = cached();
    assert_eq!(cached.get().step("router").unwrap().parts().fixed_prompt, 14);
    cached.folder.write("prompts/router.txt", "one");
    assert_eq!(cached.get().step("router").unwrap().parts().fixed_prompt, 12);
}

#[test]
fn files_that_do_not_matter_do_not_matter() {
    let cached = cached();
    assert!(!cached.rechecked(|folder| {
        folder.write("prompts/unused.txt", "changed");
        folder.write("pipelines/other.yaml", "steps: [");
        folder.write("notes.txt", "new");
    }));
}

#[test]
fn a_time_stamp_is_not_a_change() {
    let cached = cached();
    assert!(!cached.rechecked(|folder| {
        for file in ["pipelines/chat.yaml", "pipelines/base.yaml", "prompts/answer.md"] {
            let file = std::fs::File::options().write(true).open(folder.0.join(file)).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
        }
    }));
    // And a change that keeps its time stamp is one.
    assert!(cached.rechecked(|folder| {
        let path = folder.0.join("prompts/answer.md");
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        folder.write("prompts/answer.md", "something else");
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(before).unwrap();
    }));
}

#[test]
fn a_file_that_appears_in_front_of_another_is_noticed() {
    let cached = cached();
    assert!(cached.rechecked(|folder| folder.write("prompts/answer.txt", "before answer.md")));
}

#[test]
fn a_file_in_place_of_a_folder_is_noticed() {
    let cached = cached();
    cached.folder.write("prompts/answer/old.txt", "x");
    assert!(cached.rechecked(|folder| {
        std::fs::remove_dir_all(folder.0.join("prompts/answer")).unwrap();
        folder.write("prompts/answer", "before answer.md");
    }));
}

#[test]
fn a_failure_is_not_kept() {
    let cached = cached();
    let good = cached.get();
    cached.folder.remove("prompts/answer.md");
    assert!(cached.cache.get("chat").is_err());
    assert!(cached.cache.get("chat").is_err());
    cached.folder.write("prompts/answer.md", "answer from the evidence only");
    assert_eq!(cached.get(), good);
    assert!(cached.cache.get("nobody").is_err());
}
