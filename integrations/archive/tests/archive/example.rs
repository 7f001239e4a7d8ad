//! The example `memory`, as it was built with the tests.

use std::process::Command;

use crate::in_both;
use cupel_dev_servers::postgres::skip;

in_both! {
    async fn a_new_process_is_told_what_was_said_in_an_earlier_one(database) {
        let tests = std::env::current_exe().unwrap();
        let example = tests.parent().unwrap().with_file_name("examples").join("memory");
        if !example.exists() {
            // `cargo test` builds the examples, but not with `--test`.
            return skip("the example `memory` is not built");
        }
        let run = Command::new(example).env("CUPEL_ARCHIVE", &database.address).output().unwrap();
        let (said, complained) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{said}{complained}");
        for expected in [
            "archived 136 messages, dropped 0; 0 wait for vectors.",
            "My daughter cannot eat hazelnuts.",
            "The spare key is with Mr Okafor",
            "Our boiler is a Vesta 20",
            "The bicycle's lock opens with 4-1-9.",
            // By its vector: the question has no word of it.
            "The library books go back in June.",
            "136 messages forgotten again.",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }
}
