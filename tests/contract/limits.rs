//! Files that are too large, too deep, or not files at all: refused at once, by name.

use super::folder::{CHAT, Folder};

fn pipeline(text: impl AsRef<[u8]>) -> String {
    Folder::good().with("pipelines/chat.yaml", text).failure()
}

/// Error of a folder, read in a separate thread: a hang fails the test and not the suite.
#[cfg(unix)]
fn failure_at_once(folder: Folder) -> String {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(folder.failure()));
    receive.recv_timeout(std::time::Duration::from_secs(60)).expect("the folder is still read")
}

#[test]
fn aliases_count_as_what_they_repeat() {
    // 32 kB: 4,000 values, repeated 200 times.
    let list = vec!["x"; 4_000].join(", ");
    let copies = vec!["*a"; 200].join(", ");
    let error = pipeline(format!("a: &a [{list}]\nb: [{copies}]\n{}", CHAT.trim_start()));
    let expected = "more than 100000 values and keys, the limit is 100000";
    assert!(error.starts_with("pipelines/chat.yaml: is not YAML: "), "{error}");
    assert!(error.contains(expected), "{error}");
    // Few values, but long ones.
    let text = "x".repeat(100_000);
    let error = pipeline(format!("a: &a {text}\nb: [{copies}]\n{}", CHAT.trim_start()));
    assert!(error.contains("more than 8388608 bytes of text, the limit is 8388608"), "{error}");
}

#[test]
fn depth_is_noticed_before_it_costs() {
    for text in ["[".repeat(200_000), "- ".repeat(200_000), "{a: ".repeat(200_000)] {
        let error = pipeline(text);
        assert!(error.contains("nested 65 levels deep, the limit is 64"), "{error}");
    }
    // What looks like depth may be text.
    let words = "a: \"".to_owned() + &"[".repeat(50_000) + "\"\n" + CHAT.trim_start();
    assert!(Folder::good().with("pipelines/chat.yaml", words).check().is_ok());
}

#[test]
fn files_have_a_size() {
    let long = "# ".to_owned() + &"x".repeat(1 << 20) + CHAT;
    assert_eq!(
        pipeline(&long),
        format!(
            "pipelines/chat.yaml: cannot be read: it has {} bytes, the limit is 1048576",
            long.len()
        ),
    );
    let prompt = "x".repeat((8 << 20) + 1);
    assert_eq!(
        Folder::good().with("prompts/answer.md", prompt).failure(),
        "prompts/answer.md: cannot be read: it has 8388609 bytes, the limit is 8388608",
    );
    assert!(
        Folder::good().with("prompts/answer.md", "x ".repeat(4 << 20)).open().load("chat").is_ok()
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_and_a_device_are_no_prompts() {
    use std::os::unix::fs::symlink;
    let expected = "prompts/answer.md: cannot be read: it is a pipe, a socket or a device, \
                    expected a regular file";
    let folder = Folder::good();
    folder.remove("prompts/answer.md");
    let made =
        std::process::Command::new("mkfifo").arg(folder.0.join("prompts/answer.md")).status();
    assert!(made.unwrap().success());
    assert_eq!(failure_at_once(folder), expected);

    let folder = Folder::good();
    folder.remove("prompts/answer.md");
    symlink("/dev/zero", folder.0.join("prompts/answer.md")).unwrap();
    assert_eq!(
        failure_at_once(folder),
        "prompts/answer.md: cannot be read: it is a link out of the folder, to /dev/zero",
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_among_the_pipelines_holds_up_nobody() {
    let folder = Folder::good();
    let made = std::process::Command::new("mkfifo").arg(folder.0.join("pipelines/b.yaml")).status();
    assert!(made.unwrap().success());
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(folder.open().pipelines().unwrap()));
    let names = receive.recv_timeout(std::time::Duration::from_secs(60)).expect("still looking");
    assert_eq!(names, ["b", "chat"]);
}

#[test]
#[cfg(unix)]
fn links_stay_in_the_folder() {
    use std::os::unix::fs::symlink;
    let outside = Folder::empty().with("secret.md", "words of another");
    let folder = Folder::good();
    folder.remove("prompts/answer.md");
    symlink(outside.0.join("secret.md"), folder.0.join("prompts/answer.md")).unwrap();
    let error = folder.failure();
    let expected = "prompts/answer.md: cannot be read: it is a link out of the folder, to ";
    assert!(error.starts_with(expected), "{error}");
    // A whole folder that is linked is out as well.
    let folder = Folder::good();
    std::fs::remove_dir_all(folder.0.join("prompts")).unwrap();
    symlink(&outside.0, folder.0.join("prompts")).unwrap();
    let error = folder.failure();
    assert!(!error.contains("words of another"), "{error}");
    let folder = folder.with("pipelines/chat.yaml", CHAT.replace(": answer", ": secret"));
    assert!(folder.failure().contains("link out of the folder"), "{}", folder.failure());
    // From one file of the folder to another is fine, and so is the folder itself.
    let folder = Folder::good();
    folder.remove("prompts/answer.md");
    symlink("router.txt", folder.0.join("prompts/answer.md")).unwrap();
    let root = outside.0.join("current");
    symlink(&folder.0, &root).unwrap();
    assert!(cupel::contract::ContractFolder::open(root).unwrap().load("chat").is_ok());
    assert!(folder.check().is_ok());
}

#[test]
fn errors_show_the_beginning_of_long_values() {
    let long = "y".repeat(500_000);
    for (from, to) in [
        ("id: router", format!("id: {long}")),
        ("prompt_key: router", format!("prompt_key: {long}")),
        ("action: call_model", format!("action: [{long}]")),
        ("max_context_tokens: 6000", format!("max_context_tokens: {long}")),
        ("settings:", format!("{long}: 1\nsettings:")),
        ("settings:", format!("extends: {long}\nsettings:")),
    ] {
        let error = pipeline(CHAT.replacen(from, &to, 1));
        assert!(error.len() < 2_000, "{from}: {} bytes", error.len());
    }
    let config = format!("{{\"model_context_window\": \"{long}\"}}");
    let error = Folder::good().with("config.json", config).failure();
    assert!(error.len() < 2_000, "{} bytes", error.len());
    // Many problems are counted, and the first hundred shown.
    let steps: String = (0..5_000).map(|n| format!("  - {{ id: s{n}, action: 5 }}\n")).collect();
    let error = pipeline(format!("settings: {{ max_context_tokens: 5 }}\nsteps:\n{steps}"));
    assert!(error.starts_with("5000 problems:\n"), "{}", &error[..40]);
    assert!(error.ends_with("\n  and 4900 more"), "{}", &error[error.len() - 40..]);
}
