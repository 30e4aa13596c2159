"""English."""

from assistant.texts.keys import Text

SENTENCES = {
    Text.HELLO: "Hello! Write to me and I will answer. /help shows what else I can do.",
    Text.HELP: (
        "Write to me and I will answer. In a group, mention me or reply to me.\n\n"
        "/reset: I forget what was said in this chat\n"
        "/stop: I stop answering\n"
        "/model: which model answers\n"
        "/usage: what this chat has used\n"
        "/whoami: who you are to me\n"
        "/help: this list"
    ),
    Text.FORGOTTEN: "Done: I have forgotten what was said in this chat.",
    Text.FORGOTTEN_BUT_REMINDERS: ("Done: I have forgotten what was said in this chat. The reminders set here remain."),
    Text.WHOAMI: "You are {name}, your Telegram id is {user}, and the id of this chat is {chat}.",
    Text.MODEL: "My answers come from {model}.",
    Text.USAGE: (
        "In this chat, by UTC days:\n"
        "Today: {today_answers} answers, {today_in} tokens in, {today_out} out\n"
        "This month: {month_answers} answers, {month_in} tokens in, {month_out} out\n"
        "For memory, to summarise older messages: {today_memory} tokens today, {month_memory} this month"
    ),
    Text.STOPPED: "Stopped.",
    Text.NOTHING_TO_STOP: "I am not answering anything right now.",
    Text.UNKNOWN_COMMAND: "I do not know this command. /help shows the ones I know.",
    Text.PAIRED_FIRST: "Hello! You are my owner now, and I answer nobody else. Write to me, or see /help.",
    Text.PAIRED: "Hello! We are paired, so I answer you from now on. Write to me, or see /help.",
    Text.ALREADY_PAIRED: "We are already paired: just write to me. A link for someone else still works for them.",
    Text.DEAD_CODE: (
        "This link is no longer valid: it was used or is too old. Ask for a new one. If you are my owner and did not "
        "use it, someone else did: create a link that replaces everyone, under People on my page in Berth."
    ),
    Text.CODE_IN_GROUP: (
        "Everyone here could read this code, so I have made it invalid. Create a new link, and open it in a private "
        "chat with me."
    ),
    Text.STRANGER: "Sorry, my owner has not put you (id {user}) on the list of people I talk to.",
    Text.STRANGER_UNPAIRED: (
        "Sorry, I talk only to people who have paired with me, and you (id {user}) have not. Ask my owner for a link. "
        "If you are my owner, you can find one on my page in Berth."
    ),
    Text.ONLY_TEXT: (
        "I can read text, photos, PDFs and text files, and listen to voice messages. This is something else."
    ),
    Text.CANNOT_HEAR: "I cannot listen to this: my model provider does not transcribe it. Please write it to me.",
    Text.HEARD_NOTHING: "I heard no words in this. Please say it again, or write it to me.",
    Text.CANNOT_SEE: "My model did not accept this photo or file. Please describe it to me, or send its text.",
    Text.FILE_TOO_LARGE: "That is too large for me: I can read up to {most} MB in one message.",
    Text.FILE_LOST: "I could not get this file from Telegram. Please send it again.",
    Text.ONE_AT_A_TIME: "That is more than I can answer at once. Please wait for my answers first.",
    Text.TOO_OFTEN: "That is more than I may answer here in one minute. Please continue in {seconds} s.",
    Text.MESSAGE_TOO_LONG: "This message has {length} characters, and I may read at most {most}. Please shorten it.",
    Text.OUT_OF_TIME: "I stopped here: an answer may take at most {seconds} s.",
    Text.REMINDER: "⏰ Reminder: {what}",
    Text.REMINDER_LATE: "⏰ Reminder: {what}\n\nThis comes late: it was due {when}.",
    Text.NO_WORDS: "My model gave an empty answer. Please rephrase your question.",
    Text.BROKEN: "Something went wrong while I was answering. Please try again.",
    Text.BROKEN_OFF: "My model provider stopped here before the end.",
    Text.INTERRUPTED: "I am being stopped and could not finish my answer. Please ask again later.",
    Text.REFUSED: "My model provider did not accept this message. Shorten it, or use /reset to start over.",
    Text.BUDGET_REACHED: "I have used up my budget. I can answer again from {day} (UTC).",
    Text.BUDGET_SHORT: (
        "This may cost more than what is left of my budget. Ask for less at a time, or use /reset to start over."
    ),
    Text.PROVIDER_KEY: "I cannot answer: my model provider rejects my API key. My owner has to give me a valid one.",
    Text.PROVIDER_CREDIT: "I cannot answer: my model provider says that no credit is left. My owner has to top it up.",
    Text.PROVIDER_MODEL: (
        "I cannot answer: my model provider does not offer my model. My owner has to choose another."
    ),
    Text.PROVIDER_BUSY: "My model provider is busy right now. Please try again in a minute.",
    Text.PROVIDER_DOWN: "I cannot reach my model provider right now. Please try again in a few minutes.",
    Text.TOOLS_LOGIN: (
        "I could not use the tools of {server}: it asks for a sign-in. My owner can enter a key or token for it in my "
        "settings, but I cannot sign in with a browser (OAuth)."
    ),
    Text.TOOLS_KEY: (
        "I could not use the tools of {server}: it rejects its credential. My owner has to enter a valid one."
    ),
    Text.MENU_HELP: "What I can do",
    Text.MENU_RESET: "Forget what was said in this chat",
    Text.MENU_STOP: "Stop answering",
    Text.MENU_WHOAMI: "Who you are to me",
    Text.MENU_MODEL: "Which model answers",
    Text.MENU_USAGE: "What this chat has used",
}
