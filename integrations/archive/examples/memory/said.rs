//! A conversation of the example's own.

pub(crate) const TENANT: &str = "example";
pub(crate) const THREAD: &str = "household";

/// Words of the user, and answers of the assistant.
pub(crate) const TURNS: [(&str, &str); 8] = [
    ("Our boiler is a Vesta 20, installed in 2019.", "Noted: a Vesta 20 from 2019."),
    ("The plumber is called Ines, her number ends in 77.", "I will remember Ines."),
    ("My daughter cannot eat hazelnuts.", "No hazelnuts for her, understood."),
    ("The spare key is with Mr Okafor on the second floor.", "The spare key: Mr Okafor."),
    ("We water the ferns twice a week.", "Ferns: twice a week."),
    ("The bicycle's lock opens with 4-1-9.", "Lock code kept."),
    ("The rent is due on the third.", "Rent on the third of each month."),
    ("The library books go back in June.", "Books back in June."),
];

/// Small talk, so that the beginning is far away.
pub(crate) fn small_talk() -> impl Iterator<Item = (String, String)> {
    const DAYS: [&str; 5] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    DAYS.into_iter().cycle().enumerate().take(60).map(|(number, day)| {
        (
            format!("How is {day} looking, for the {}th time?", number + 1),
            format!("Nothing special on {day}, a quiet day with light rain."),
        )
    })
}

pub(crate) const QUESTIONS: [&str; 5] = [
    "What must my daughter not eat?",
    "Who has our spare key?",
    "Which boiler do we have?",
    "How do I open the bicycle lock?",
    "And the librarybooks?", // two words as one
];
