//! An agent over rig's own OpenAI client, against a server on this machine.

use rig_core::message::Message;
use rig_core::transcript::validate_canonical;

use crate::provider::{ANSWER, Provider, TURNS, agent, serve, texts};
use crate::run::{ALL, Mode, PREAMBLE, QUESTION, Seen, finish, is_question};

#[tokio::test]
async fn without_the_layer_the_provider_refuses_the_third_turn() {
    for mode in [Mode::Whole, Mode::Streamed] {
        let provider = Provider::default();
        let agent = agent(None, serve(provider.clone()).await, &Seen::default());
        let error = finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap_err();
        assert!(error.to_string().contains("exceed the window"), "{error}");
        assert_eq!(provider.bodies.all().len(), 3);
    }
}

#[tokio::test]
async fn with_it_ten_turns_run_to_the_answer() {
    for (way, mode) in ALL {
        let provider = Provider::default();
        let seen = Seen::default();
        let agent = agent(Some(way), serve(provider.clone()).await, &seen);
        let response = finish(agent.prompt(QUESTION).max_turns(20), mode)
            .await
            .unwrap_or_else(|error| panic!("{way:?}, {mode:?}: {error}"));
        assert_eq!(response.output(), ANSWER);

        let sent = seen.sent.all();
        assert_eq!(sent.len(), TURNS + 1);
        for request in &sent {
            validate_canonical(&request.chat_history).unwrap();
            assert_eq!(request.chat_history[0], Message::system(PREAMBLE));
            assert!(request.chat_history.iter().any(is_question));
        }
        let bodies = provider.bodies.all();
        assert_eq!(bodies.len(), TURNS + 1);
        for (request, body) in sent.iter().zip(&bodies) {
            assert!(texts(body).iter().any(|text| text == QUESTION));
            assert_eq!(body["tools"].as_array().unwrap().len(), 1);
            // rig had nothing to repair: what arrived is what was sent.
            assert_eq!(body["messages"].as_array().unwrap().len(), request.chat_history.len());
            assert!(!body.to_string().contains("No result provided"));
        }
        assert!(seen.selections.all()[TURNS].report.excluded.len() > 3);
    }
}
