"""Conversations with planted facts, and questions about them."""

FACTS = [
    ("By the way, the code of my bicycle lock is 4417.", "What is the code of my bicycle lock?", ["4417"]),
    ("My new dentist is called Doctor Okafor.", "What is my new dentist called?", ["okafor"]),
    ("Our flight to Lisbon leaves at 6:45.", "At what time does our flight to Lisbon leave?", ["6:45"]),
    ("My sister's dog is called Biscuit.", "What is my sister's dog called?", ["biscuit"]),
    ("The spare key of the shed is under the blue flower pot.", "Under which flower pot is the spare key of the shed?", ["blue"]),
    ("The landlord's phone number ends with 8821.", "With which digits does the landlord's phone number end?", ["8821"]),
    ("I am allergic to walnuts, so keep that in mind.", "Which nuts am I allergic to?", ["walnut"]),
    ("The meeting with the architect is on Thursday.", "On which day is the meeting with the architect?", ["thursday"]),
    ("The password of the wifi in the cabin is pinecone42.", "What is the password of the wifi in the cabin?", ["pinecone42"]),
    ("My locker at the swimming pool has the number 215.", "Which number does my locker at the swimming pool have?", ["215"]),
    ("Grandma's birthday is on the 9th of March.", "On which date is grandma's birthday?", ["9th of march", "march 9", "9 march"]),
    ("We rented the van from a company called Torvald.", "What is the company called from which we rented the van?", ["torvald"]),
]

TOPICS = [
    ("the garden", "the tomatoes grow slowly and the leaves have brown spots", "Brown spots often come from too much water. Water in the morning, and only the soil."),
    ("dinner", "I have rice, lentils and half a cabbage left", "Fry the cabbage with onions, cook the lentils with cumin, and serve both with the rice."),
    ("the running plan", "my knees hurt after the long run on Sunday", "Rest for two days, then run shorter distances on soft ground."),
    ("the book club", "nobody finished the novel and we meet tomorrow", "Talk about the first half only, and let each member pick one scene."),
    ("the old laptop", "the fan is loud and the battery lasts an hour", "Clean the fan with compressed air and replace the battery before you think of a new one."),
    ("the choir", "we sing in a church with a long echo", "Sing slower than in the rehearsal room, and keep the consonants short."),
    ("the bathroom", "the grout between the tiles turns black", "Scrub it with baking soda, let it dry, and seal it afterwards."),
    ("the language course", "I forget new words after a week", "Repeat them after one, three and seven days, and use each in a sentence of your own."),
    ("the bread", "the crust is hard and the inside is wet", "Bake it longer at a lower temperature, and let it cool for an hour before you cut it."),
    ("the bus pass", "I use it only on three days a week", "Count the single fares of a month. Below thirty rides the pass is too expensive."),
]

DETAILS = [
    "I tried it twice last month and it did not help much",
    "my neighbour says that it was the same for her",
    "I would rather not spend a lot of money on it",
    "we have time until the weekend",
    "it was easier when we lived in the other flat",
    "maybe I only need some patience",
]

SYSTEM = {"role": "system", "content": "You are a helpful assistant. Answer in one short sentence."}


def conversation(number, exchanges, facts):
    """A chat with `facts` planted facts in its first half, and the questions about them."""
    chosen = [FACTS[(number * 5 + index * 7) % len(FACTS)] for index in range(facts)]
    messages, questions = [SYSTEM], []
    for index in range(exchanges):
        topic, trouble, advice = TOPICS[(index * 3 + number) % len(TOPICS)]
        detail = DETAILS[(index * 5 + number) % len(DETAILS)]
        words = f"Another thing about {topic}: {trouble}. In week {index + 1} {detail}. What should I do?"
        planted = index * 2 * facts // exchanges
        if index * 2 < exchanges and planted == len(questions) and planted < len(chosen):
            fact, question, answers = chosen[planted]
            words = f"{words} {fact}"
            questions.append((fact, question, answers))
        messages.append({"role": "user", "content": words})
        messages.append({"role": "assistant", "content": f"{advice} Try this for a week and tell me how it goes."})
    return messages, questions
