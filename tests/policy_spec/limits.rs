//! Policies that are too large, too deep, or not files at all: refused at once, by name.

use cupel::PolicySpec;
use cupel::policy::spec::PolicySpecError;

const REST: &str = "scorer: recency\nslicer: greedy\nplacer: u_shaped\n";

#[test]
fn depth_and_repetition_are_limited_in_every_format() {
    let deep = |open: &str, close: &str| open.repeat(70) + "1" + &close.repeat(70);
    let errors = [
        PolicySpec::from_json_str(&deep("[", "]")).unwrap_err(),
        PolicySpec::from_toml_str(&format!("a = {}", deep("[", "]"))).unwrap_err(),
        PolicySpec::from_yaml_str(&deep("{ a: ", " }")).unwrap_err(),
        serde_json::from_str::<PolicySpec>(&deep("[", "]"))
            .map_err(|error| PolicySpecError::Unreadable(error.to_string()))
            .unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("nested 65 levels deep, the limit is 64"), "{text}");
    }
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let copies = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb += &format!("a{n}: &a{n} [{copies}]\n");
    }
    let error = PolicySpec::from_yaml_str(&(bomb + REST)).unwrap_err().to_string();
    assert!(error.contains("more than 100000 values and keys, the limit is 100000"), "{error}");
    let many = format!("{{\"a\": [{}]}}", vec!["1"; 100_001].join(","));
    let error = PolicySpec::from_json_str(&many).unwrap_err().to_string();
    assert!(error.contains("the limit is 100000"), "{error}");
}

#[test]
fn errors_show_the_beginning_of_long_values() {
    let long = "y".repeat(1_000_000);
    let kind = format!("{{ type: kind, weights: {{ ? {long} : 1 }} }}");
    let quota = format!("{{ type: quota, inner: greedy, quotas: [{{ kind: {long}, cap: 101 }}] }}");
    for text in [
        REST.replace("greedy", &long),
        REST.replace("greedy", &format!("[{long}]")),
        REST.replace("recency", &kind),
        REST.replace("recency", &format!("{{ type: custom, name: ' ', {long}: 1 }}")),
        REST.replace("greedy", &quota),
        format!("{REST}overflow: {long}\n"),
    ] {
        let error = PolicySpec::from_yaml_str(&text).unwrap_err().to_string();
        assert!(error.len() < 2_000, "{} bytes", error.len());
    }
    let error = PolicySpec::from_toml_str(&format!("a = {long}")).unwrap_err().to_string();
    assert!(error.len() < 2_000, "{} bytes", error.len());
    let custom = format!("{{ type: custom, name: {long} }}");
    let spec = PolicySpec::from_yaml_str(&REST.replace("recency", &custom)).unwrap();
    let error = spec.to_policy(&crate::registry()).unwrap_err().to_string();
    assert!(error.len() < 2_000, "{} bytes", error.len());
}

#[test]
fn a_policy_is_a_regular_file_of_limited_size() {
    let folder = std::env::temp_dir().join(format!("cupel-limits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("large.yaml");
    std::fs::write(&file, format!("{REST}# {}", "x".repeat(1 << 20))).unwrap();
    let error = PolicySpec::from_file(&file).unwrap_err().to_string();
    let rest = "cannot be read: it has 1048626 bytes, the limit is 1048576";
    assert_eq!(error, format!("{}: {rest}", file.display()));

    let error = PolicySpec::from_file(folder.join("large.yaml/..")).unwrap_err();
    assert!(matches!(error, PolicySpecError::File { .. }), "{error}");
    #[cfg(unix)]
    {
        let pipe = folder.join("pipe.yaml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let zero = folder.join("zero.yaml");
        std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
        for file in [pipe, zero] {
            // In a thread of its own: one that hangs fails the test, not the suite.
            let (send, receive) = std::sync::mpsc::channel();
            std::thread::spawn(move || drop(send.send(PolicySpec::from_file(file))));
            let read = receive.recv_timeout(std::time::Duration::from_secs(60));
            let error = read.expect("the file is still read").unwrap_err().to_string();
            let expected = "it is a pipe, a socket or a device, expected a regular file";
            assert!(error.ends_with(expected), "{error}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
