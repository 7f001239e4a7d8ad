//! Questions about the planted facts that share no informative word with the sentence that answers them.

/// One question for each planted fact, in their order: it asks for the same in other words.
pub const PARAPHRASED: [&str; 24] = [
    "In what shade did we do the entrance to the yard?",
    "What sort of fruit did we put into the soil?",
    "Into how many plots is the ground for our greens divided?",
    "Who repairs our minibus?",
    "How hard should I pump up the back wheels?",
    "Until when is our vehicle covered?",
    "What boat brings us across?",
    "How much time do we spend waiting between the two flights?",
    "Where will we be staying overnight?",
    "How hot must I bake Granny's loaf?",
    "What kind of meal goes into the knödel?",
    "Who of the visitors must not eat almonds?",
    "Under which code is our puppy registered?",
    "Who looked after the injured foot of our pet?",
    "How large is her breakfast?",
    "Where do I connect to the test copy of Postgres?",
    "Whose approval do we need before we ship a new version?",
    "How big may a file be that people send us?",
    "Under what identifier does the revenue authority know me?",
    "What did we pay the bookkeeper?",
    "Which invoices do I still have to find?",
    "In what building do we practise our singing?",
    "Who leads the musicians through the mass for the dead?",
    "How many men sing the high part?",
];
