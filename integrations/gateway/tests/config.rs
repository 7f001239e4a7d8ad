//! Configuration files, and every mistake in them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::time::Duration;

use cupel::Policy;
use cupel::model::Grid;
use cupel_gateway::{Config, Gateway};

const WHOLE: &str = r#"
listen = "0.0.0.0:8080"
hosts = ["llm.example.org"]
policy = "rag"
at_most = 32_000
unknown_window = 16_000
fail_closed = true
keys = [{ env = "GATEWAY_KEY" }]

[[upstreams]]
name = "openai"
url = "https://api.openai.com/v1"
key = { env = "OPENAI_API_KEY" }

[[upstreams]]
name = "local"
url = "http://127.0.0.1:8000/v1"
key = "none"
models = ["llama*"]

[[models]]
name = "llama-3*"
window = 32_768
encoding = "estimate"
factor = 1.1
policy = { scorer = "recency", slicer = "greedy", placer = "chronological" }

[limits]
body_bytes = 1_000_000
answer_seconds = 30.5
"#;

fn environment(name: &str) -> Option<String> {
    ["GATEWAY_KEY", "OPENAI_API_KEY"].contains(&name).then(|| format!("value of {name}"))
}

#[test]
fn a_whole_file_is_read() {
    let config = Config::from_toml(WHOLE, &environment).unwrap();
    assert_eq!(config.listen, "0.0.0.0:8080".parse().unwrap());
    assert_eq!(config.limits.answer_time, Duration::from_millis(30_500));
    assert_eq!((config.upstreams.len(), config.models.len(), config.keys.len()), (2, 1, 1));
    assert!(config.fail_closed);
    assert!(!format!("{config:?}").contains("value of"));
    assert!(Gateway::new(config).is_ok());
}

#[test]
fn every_mistake_is_listed_with_its_path() {
    let text = r#"
        lisen = "127.0.0.1:1"
        listen = "here"
        at_most = 0
        policy = "caht"
        keys = ["sk-secret", { env = "NOT_SET" }, { env = "A", file = "b" }]
        [[upstreams]]
        url = "ftp://example.org"
        key = "sk-secret"
        [[upstreams]]
        models = "gpt"
        [[models]]
        window = -1
        encoding = "o200"
        factor = 0
        prompt_cache = "prefixes"
        digits = "one"
        tools = "jason"
        tokens_per_message = -2
        chat_template = "x.jinja"
        policy = { scorers = [{ type = "recency", weight = -1 }], slicer = "greedy", placer = "u_shaped" }
        [limits]
        depth = 0
        body_bytes = 10_000_000_000
        body_second = 3
    "#;
    let error = Config::from_toml(text, &|_| None).unwrap_err();
    for expected in [
        "lisen: unknown key, expected one of listen",
        "did you mean listen?",
        "listen: \"here\" is no address with a port",
        "at_most: must be at least 1, got 0",
        "policy: got \"caht\", expected one of chat",
        "keys[0]: must be a table with env, file or hash",
        "keys[1]: the variable NOT_SET: is not set",
        "keys[2]: expected either env or file",
        "upstreams[0].url: \"ftp://example.org\" is no address of a server",
        "upstreams[0].key: expected one of client, none, or a table",
        "upstreams[1].url: missing, expected the address of an API",
        "upstreams[1].models: must be a list, got \"gpt\"",
        "models[0].name: missing",
        "models[0].window: must be at least 1, got -1",
        "models[0].encoding: got \"o200\", expected one of o200k, cl100k, estimate; did you mean o200k?",
        "models[0].factor: must be between 0.1 and 10, got 0",
        "models[0].digits: got \"one\", expected one of single, grouped",
        "models[0].tools: got \"jason\", expected one of json, openai",
        "models[0].tokens_per_message: must not be negative, got -2",
        "models[0].chat_template: needs a tokenizer",
        "models[0].prompt_cache: got \"prefixes\", expected one of prefix, breakpoints",
        "models[0].policy.scorers[0].weight: must be positive, got -1",
        "limits.depth: must be at least 1, got 0",
        "limits.body_second: unknown key",
        "limits.waiting_bytes: must be at least body_bytes",
    ] {
        assert!(error.0.iter().any(|line| line.contains(expected)), "{expected}:\n{error}");
    }
    assert!(!error.to_string().contains("sk-secret"), "{error}");
}

#[test]
fn a_file_that_is_none_is_an_error_that_names_it() {
    let error = Config::from_file("no/such/gateway.toml").unwrap_err().to_string();
    assert!(error.starts_with("no/such/gateway.toml: "), "{error}");
    assert!(Config::from_file("gateway.ini").unwrap_err().to_string().contains("expected a file"));
    let error = Config::from_toml("a = [", &|_| None).unwrap_err().to_string();
    assert!(error.starts_with("not valid TOML: "), "{error}");
}

#[test]
fn what_could_be_a_key_is_in_no_message() {
    for text in [
        "keys = \"sk-secret\"",
        "keys = [[\"sk-secret\"]]",
        "keys = { env = \"sk-secret\" }",
        "keys = [{ env = \"sk-secret\" }]",
        "keys = [\"sk-secret",
        "tenant_secret = [\"sk-secret\"]",
        "[[upstreams]]\nurl = \"https://user:sk-secret@example.org/v1\"",
        "[[upstreams]]\nurl = \"https://example.org/v1?key=sk-secret\"",
        "[[upstreams]]\nurl = \"sk-secret@example.org#sk-secret\"",
        "[[sources]]\nname = \"a\"\nurl = \"https://user:sk-secret@example.org/\"",
        "[archive]\nurl = \"postgres://user:sk-secret@example.org/\"",
    ] {
        let error = Config::from_toml(text, &|_| None).unwrap_err().to_string();
        assert!(!error.contains("sk-secret"), "{text}:\n{error}");
    }
    let error = Config::from_toml("keys = [\"sk-secret", &|_| None).unwrap_err().to_string();
    assert!(error.contains("line 1, column"), "{error}");
}

#[test]
fn what_makes_no_sense_together_is_listed_beside_what_makes_none_alone() {
    let text = r#"
        listen = "0.0.0.0:8080"
        hosts = ["llm.example.org:443", "[::1]", "https://llm.example.org", "*"]
        at_most = -1
        [[upstreams]]
        name = "a"
        url = "ftp://example.org"
        [[upstreams]]
        name = "b"
        url = "https://example.org/v1"
        key = { env = "OPENAI_API_KEY" }
        [[upstreams]]
        name = "b"
        url = "https://example.org/v1"
        [[sources]]
        name = "manual"
        url = "http://127.0.0.1:9000/"
        items = 0
        [archive]
        url = "sqlite:///archive.db"
        [limits]
        answer_seconds = 0
        shutdown_seconds = 0
    "#;
    let error = Config::from_toml(text, &environment).unwrap_err();
    for expected in [
        "hosts[2]: \"https://llm.example.org\" is no name",
        "hosts[3]: \"*\" is no name",
        "at_most: must be at least 1, got -1",
        "upstreams[0].url: ",
        "upstreams[2].name: there is another \"b\"",
        "keys: upstream \"b\" has a key of its own",
        "sources[0].items: must be at least 1",
        "tenant_secret: missing",
        "limits.answer_seconds: must be more than 0",
    ] {
        assert!(error.0.iter().any(|line| line.starts_with(expected)), "{expected}:\n{error}");
    }
    let known = if cfg!(feature = "archive") { 9 } else { 10 };
    assert_eq!(error.0.len(), known, "{error}");
    // A key that is missing is not also one that nobody configured.
    let text = text.replace("at_most", "keys = [{ env = \"NOT_SET\" }]\nat_most");
    let error = Config::from_toml(&text, &environment).unwrap_err();
    assert_eq!(error.0.iter().filter(|line| line.starts_with("keys")).count(), 1, "{error}");
}

#[cfg(feature = "archive")]
#[test]
fn the_bytes_that_may_wait_for_the_archive_are_read() {
    let text = |archive: &str| {
        format!(
            r#"
            tenant_secret = {{ env = "OPENAI_API_KEY" }}
            [[upstreams]]
            url = "http://127.0.0.1:9000/v1"
            [archive]
            url = "sqlite:///archive.db"
            {archive}
            "#
        )
    };
    let waiting = |archive: &str| {
        Config::from_toml(&text(archive), &environment).unwrap().memory.unwrap().waiting_bytes
    };
    assert_eq!((waiting(""), waiting("waiting_bytes = 1000")), (128 << 20, 1_000));
}

#[test]
fn two_upstreams_for_the_same_requests_are_a_mistake() {
    let upstreams = |first: &str, second: &str| {
        let entry = |name: &str, rest: &str| {
            format!(
                "[[upstreams]]\nname = \"{name}\"\nurl = \"http://{name}.example/v1\"\n{rest}\n"
            )
        };
        Config::from_toml(&(entry("a", first) + &entry("b", second)), &|_| None)
            .map_err(|error| error.to_string())
    };
    let two = upstreams("", "").unwrap_err();
    assert!(two.starts_with("upstreams[1].models: missing, and \"a\" takes all models"), "{two}");
    assert!(upstreams("protocol = \"openai\"", "protocol = \"openai\"").is_err());
    assert!(upstreams("", "protocol = \"anthropic\"").is_ok());
    let two = upstreams("models = [\"llama*\"]", "models = [\"b\", \"llama*\"]").unwrap_err();
    assert_eq!(two, "upstreams[1].models: \"llama*\" is also claimed by \"a\", expected one");
    let wrong = upstreams("protocol = \"openapi\"", "").unwrap_err();
    assert!(wrong.contains("did you mean openai?"), "{wrong}");
}

#[test]
fn routes_are_paths() {
    let routes = |routes: &str| {
        let text = format!("routes = {routes}\n[[upstreams]]\nurl = \"http://a.example/v1\"");
        Config::from_toml(&text, &|_| None).map_err(|error| error.to_string())
    };
    assert_eq!(routes(r#"["GET /files", "/batches*"]"#).unwrap().routes.len(), 2);
    for wrong in [r#"["files"]"#, r#"["get /files"]"#, r#"["GET  /files"]"#] {
        assert!(routes(wrong).unwrap_err().starts_with("routes[0]: "), "{wrong}");
    }
}

/// The TOML blocks of the guide's chapters.
fn examples() -> Vec<&'static str> {
    let chapters = [
        include_str!("../docs/run-the-gateway.md"),
        include_str!("../docs/operate-the-gateway.md"),
        include_str!("../docs/local-models.md"),
    ];
    let blocks = chapters.iter().flat_map(|chapter| chapter.split("```toml\n").skip(1));
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[cfg(feature = "archive")]
#[test]
fn the_configurations_of_the_guide_are_valid() {
    assert!(examples().len() >= 6);
    for block in examples() {
        let read = Config::from_toml(block, &|name| match name {
            "ARCHIVE_URL" => Some("postgres://cupel@127.0.0.1/cupel".to_owned()),
            name => Some(format!("value of {name}")),
        });
        assert_eq!(read.unwrap().problems(), [""; 0], "{block}");
    }
}

/// The reader lists the keys that it knows when it finds one that it does not.
#[test]
fn every_key_is_in_an_example_of_the_guide() {
    let shown: Vec<&str> = examples().iter().flat_map(|block| block.lines()).collect();
    let upstream = "[[upstreams]]\nurl = \"http://a.example/v1\"\n";
    for (table, others) in [
        ("", upstream),
        ("[[upstreams]]", ""),
        ("[[models]]", upstream),
        ("[[sources]]", upstream),
        ("[archive]", upstream),
        ("[meaning]", upstream),
        ("[compaction]", upstream),
        ("[limits]", upstream),
        ("[page]", upstream),
        ("[[keys]]", upstream),
        ("[access_log]", upstream),
        ("[metrics]", upstream),
        ("[receipts]", upstream),
    ] {
        let text = format!("{}\nunknown_one = 1\n{others}", table);
        let error = Config::from_toml(&text, &|_| None).unwrap_err();
        let known = error
            .0
            .iter()
            .find_map(|line| line.split_once("unknown_one: unknown key, expected one of "));
        let known = known.unwrap_or_else(|| panic!("{error}")).1.split("; did you").next().unwrap();
        for key in known.split(", ") {
            let is_shown = |line: &&&str| {
                line.starts_with(&format!("{key} = "))
                    || line.starts_with(&format!("[{key}]"))
                    || line.starts_with(&format!("[[{key}]]"))
                    || line.contains(&format!("{{ {key} = "))
            };
            assert!(shown.iter().any(|line| is_shown(&line)), "{table} {key} is in no example");
        }
    }
}

#[test]
fn a_tokenizer_says_how_to_count_and_has_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    std::fs::write(&path, "GGUF\u{3}").unwrap();
    let text = |more: &str| {
        format!(
            "[[upstreams]]\nurl = \"http://127.0.0.1:8000/v1\"\n[[models]]\nname = \"m\"\n\
             window = 4096\ntokenizer = {:?}\n{more}",
            path.to_str().unwrap()
        )
    };
    let both = Config::from_toml(&text("encoding = \"o200k\"\ndigits = \"single\""), &|_| None);
    let both = both.unwrap_err().to_string();
    assert!(both.contains("models[0].encoding: the tokenizer says it"), "{both}");
    assert!(both.contains("models[0].digits: the tokenizer says it"), "{both}");
    let config = Config::from_toml(&text(""), &|_| None).unwrap();
    let error = Gateway::new(config).unwrap_err().to_string();
    assert!(error.contains("models[0]: ") && error.contains("it is a GGUF file"), "{error}");
}

#[test]
fn every_mistake_of_a_meaning_is_listed() {
    let read = |meaning: &str| {
        let text = format!("{meaning}\n[[upstreams]]\nurl = \"http://a.example/v1\"");
        Config::from_toml(&text, &environment).map_err(|error| error.to_string())
    };
    let right = read("[meaning]\nurl = \"http://127.0.0.1:8080/v1\"\nmodel = \"minilm\"");
    let meaning = right.unwrap().meaning.unwrap();
    assert_eq!((meaning.weight, meaning.deadline), (0.5, Duration::from_millis(500)));

    let missing = read("[meaning]\nweigth = 1").unwrap_err();
    assert!(missing.contains("meaning.url: missing, expected the address"), "{missing}");
    assert!(missing.contains("meaning.model: missing, expected the name"), "{missing}");
    assert!(missing.contains("did you mean weight?"), "{missing}");
    let wrong =
        read("[meaning]\nurl = \"127.0.0.1:80\"\nmodel = \" \"\nkey = \"sk-secret\"\nrange = [1]");
    let wrong = wrong.unwrap_err();
    assert!(wrong.contains("meaning.key: must be a table with env or file"), "{wrong}");
    assert!(wrong.contains("meaning.range: has 1 numbers") && !wrong.contains("secret"), "{wrong}");
    let wrong = read(
        "[meaning]\nurl = \"127.0.0.1:80\"\nmodel = \" \"\nweight = 2\ndeadline_seconds = 0\n\
         range = [0.9, 0.1]\nbatch = 0\ndimensions = 0",
    );
    let wrong = wrong.unwrap_err();
    for key in ["url", "model", "weight", "deadline_seconds", "range", "batch", "dimensions"] {
        assert!(wrong.contains(&format!("meaning.{key}: ")), "{key}: {wrong}");
    }
    let table = "policy = { scorer = \"recency\", slicer = \"greedy\", placer = \"age\" }\n\
                 [meaning]\nurl = \"http://a.example/v1\"\nmodel = \"m\"";
    let wrong = read(table).unwrap_err();
    assert!(wrong.starts_with("meaning: policy has no relevance"), "{wrong}");
}

#[test]
fn a_plan_beside_the_name_of_a_policy_changes_single_settings() {
    let upstream = "[[upstreams]]\nurl = \"http://127.0.0.1:8000/v1\"\n";
    let read = |text: &str| Config::from_toml(&format!("{text}\n{upstream}"), &|_| None);
    let plan = |text: &str| read(text).unwrap().policy.plan().cloned().unwrap();
    let uncached = "[plan]\nprompt_cache = false\n";
    for (policy, preset) in [("", Policy::chat()), ("policy = \"tool_use\"\n", Policy::tool_use())]
    {
        let own = preset.plan().unwrap();
        let set = plan(&format!("{policy}{uncached}"));
        assert_eq!(set, own.clone().grid(Grid::Uncached), "{policy}");
        assert_eq!(plan(&format!("{policy}[plan]\n")), *own);
        assert_eq!(
            plan(&format!("{policy}[plan]\nrecall = 0.2\n")).recall_tokens(1_000, false),
            200
        );
    }
    for (text, expected) in [
        ("[plan]\nrecall = 2\n", "plan.recall: must be between 0 and 1, got 2"),
        ("[plan]\nrecal = 0.1\n", "plan.recal: unknown key"),
        ("policy = \"rag\"\n[plan]\nhash = true\n", "plan: \"rag\" plans nothing"),
        ("plan = 5\n", "plan: must be a table"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_model_for_summaries_is_read_with_its_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let prompt = folder.path().join("prompt.txt");
    std::fs::write(&prompt, "Be brief: {limit} tokens.").unwrap();
    let text = |rest: &str| {
        format!(
            "[[upstreams]]\nname = \"openai\"\nurl = \"https://api.openai.com/v1\"\n\
             [compaction]\nupstream = \"openai\"\nmodel = \"small\"\n{rest}"
        )
    };
    let key = "key = { env = \"OPENAI_API_KEY\" }\n";
    let whole = format!(
        "{key}share = 0.1\nlimit = 300\nprompt = {{ file = {:?} }}\n",
        prompt.display().to_string()
    );
    let model = Config::from_toml(&text(&whole), &environment).unwrap().compaction.unwrap();
    assert_eq!((model.share, model.limit, model.model.as_str()), (Some(0.1), Some(300), "small"));
    assert_eq!(model.prompt.as_deref(), Some("Be brief: {limit} tokens."));
    assert!(!format!("{model:?}").contains("value of"));
    let wrong = |rest: &str| Config::from_toml(&text(rest), &environment).unwrap_err().to_string();
    for (rest, part) in [
        ("", "compaction.key: missing"),
        (&format!("{key}share = 2.0"), "compaction.share: 2, expected a share from 0 to 1"),
        (&format!("{key}at_once = 0"), "compaction.at_once: must be at least 1"),
        (&format!("{key}prompt = {{ file = \"/no/such/file\" }}"), "compaction.prompt.file"),
        ("key = \"sk-1\"", "compaction.key: must be a table with env or file"),
    ] {
        let error = wrong(rest);
        assert!(error.contains(part) && !error.contains("sk-1"), "{error}");
    }
    let elsewhere = text(key).replace("upstream = \"openai\"", "upstream = \"other\"");
    let error = Config::from_toml(&elsewhere, &environment).unwrap_err().to_string();
    assert!(error.contains("compaction.upstream: there is no upstream \"other\""), "{error}");
}
