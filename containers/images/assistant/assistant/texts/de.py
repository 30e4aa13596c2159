"""German."""

from assistant.texts.keys import Text

SENTENCES = {
    Text.HELLO: "Hallo! Schreib mir, und ich antworte. /help zeigt, was ich noch kann.",
    Text.HELP: (
        "Schreib mir, und ich antworte. In einer Gruppe erwähne mich oder antworte mir.\n\n"
        "/reset: Ich vergesse, was in diesem Chat gesagt wurde\n"
        "/stop: Ich höre auf zu antworten\n"
        "/model: welches Modell antwortet\n"
        "/usage: was dieser Chat verbraucht hat\n"
        "/whoami: wer du für mich bist\n"
        "/help: diese Liste"
    ),
    Text.FORGOTTEN: "Erledigt: Ich habe vergessen, was in diesem Chat gesagt wurde.",
    Text.FORGOTTEN_BUT_REMINDERS: (
        "Erledigt: Ich habe vergessen, was in diesem Chat gesagt wurde. Was hier an Erinnerungen gesetzt ist, bleibt."
    ),
    Text.WHOAMI: "Du bist {name}, deine Telegram-ID ist {user}, und die ID dieses Chats ist {chat}.",
    Text.MODEL: "Meine Antworten kommen von {model}.",
    Text.USAGE: (
        "In diesem Chat, nach UTC-Tagen:\n"
        "Heute: {today_answers} Antworten, {today_in} Token hinein, {today_out} heraus\n"
        "Dieser Monat: {month_answers} Antworten, {month_in} Token hinein, {month_out} heraus\n"
        "Für das Gedächtnis, um lange Zurückliegendes zusammenzufassen: "
        "heute {today_memory} Token, diesen Monat {month_memory}"
    ),
    Text.STOPPED: "Angehalten.",
    Text.NOTHING_TO_STOP: "Ich antworte gerade auf nichts.",
    Text.UNKNOWN_COMMAND: "Diesen Befehl kenne ich nicht. /help zeigt die, die ich kenne.",
    Text.PAIRED_FIRST: "Hallo! Ich gehöre jetzt dir und antworte niemandem sonst. Schreib mir, oder sieh /help.",
    Text.PAIRED: "Hallo! Wir sind gekoppelt: Von jetzt an antworte ich dir. Schreib mir, oder sieh /help.",
    Text.ALREADY_PAIRED: "Wir sind schon gekoppelt: Schreib mir einfach. Ein Link für jemand anderen gilt weiter.",
    Text.DEAD_CODE: (
        "Dieser Link gilt nicht mehr: Er wurde benutzt oder ist zu alt. Bitte um einen neuen. Wenn ich dir gehöre und "
        "du ihn nicht benutzt hast, war es jemand anderes: Erstelle unter „People“ auf meiner Seite in Berth einen "
        "Link, der alle ersetzt."
    ),
    Text.CODE_IN_GROUP: (
        "Diesen Code konnten hier alle lesen, deshalb habe ich ihn ungültig gemacht. Erstelle einen neuen Link und "
        "öffne ihn in einem privaten Chat mit mir."
    ),
    Text.STRANGER: "Tut mir leid, du (ID {user}) stehst nicht auf der Liste der Leute, mit denen ich rede.",
    Text.STRANGER_UNPAIRED: (
        "Tut mir leid, ich rede nur mit Leuten, die mit mir gekoppelt sind, und du (ID {user}) bist es nicht. Bitte "
        "meinen Besitzer um einen Link. Wenn du das bist: Er steht auf meiner Seite in Berth."
    ),
    Text.ONLY_TEXT: (
        "Ich kann Texte, Fotos, PDFs und Textdateien lesen und Sprachnachrichten anhören. Das hier ist etwas anderes."
    ),
    Text.CANNOT_HEAR: "Das kann ich nicht anhören: Mein Anbieter schreibt es nicht ab. Bitte schreib es mir.",
    Text.HEARD_NOTHING: "Darin habe ich keine Worte gehört. Bitte sag es noch einmal, oder schreib es mir.",
    Text.CANNOT_SEE: (
        "Mein Modell hat dieses Foto oder diese Datei nicht angenommen. Bitte beschreib sie mir, oder schick den Text."
    ),
    Text.FILE_TOO_LARGE: "Das ist zu groß für mich: Ich kann in einer Nachricht bis zu {most} MB lesen.",
    Text.FILE_LOST: "Ich konnte diese Datei nicht von Telegram bekommen. Bitte schick sie noch einmal.",
    Text.ONE_AT_A_TIME: "Das ist mehr, als ich auf einmal beantworten kann. Bitte warte erst meine Antworten ab.",
    Text.TOO_OFTEN: "Das ist mehr, als ich hier in einer Minute beantworten darf. Bitte mach in {seconds} s weiter.",
    Text.MESSAGE_TOO_LONG: "Diese Nachricht hat {length} Zeichen, und ich darf {most} lesen. Bitte kürze sie.",
    Text.OUT_OF_TIME: "Hier habe ich aufgehört: Eine Antwort darf mich {seconds} s kosten.",
    Text.REMINDER: "⏰ Erinnerung: {what}",
    Text.REMINDER_LATE: "⏰ Erinnerung: {what}\n\nDas kommt zu spät: Es war fällig {when}.",
    Text.NO_WORDS: "Mein Modell hat eine leere Antwort gegeben. Bitte frag mit anderen Worten.",
    Text.BROKEN: "Beim Antworten ist etwas schiefgegangen. Bitte versuch es noch einmal.",
    Text.BROKEN_OFF: "Hier hat mein Anbieter abgebrochen.",
    Text.INTERRUPTED: "Ich werde gerade angehalten und konnte nicht zu Ende antworten. Bitte frag später noch einmal.",
    Text.REFUSED: "Mein Anbieter hat diese Nachricht nicht angenommen. Kürze sie, oder beginne neu mit /reset.",
    Text.BUDGET_REACHED: "Mein Budget ist aufgebraucht. Ab dem {day} (UTC) antworte ich wieder.",
    Text.BUDGET_SHORT: (
        "Das kann mehr kosten, als von meinem Budget übrig ist. Frage weniger auf einmal, oder beginne neu mit /reset."
    ),
    Text.PROVIDER_KEY: (
        "Ich kann nicht antworten: Mein Anbieter weist meinen API-Schlüssel zurück. Mein Besitzer muss mir einen "
        "gültigen geben."
    ),
    Text.PROVIDER_CREDIT: (
        "Ich kann nicht antworten: Mein Anbieter sagt, dass kein Guthaben übrig ist. Mein Besitzer muss es aufladen."
    ),
    Text.PROVIDER_MODEL: (
        "Ich kann nicht antworten: Mein Anbieter hat mein Modell nicht. Mein Besitzer muss ein anderes wählen."
    ),
    Text.PROVIDER_BUSY: "Mein Anbieter ist gerade überlastet. Bitte versuch es in einer Minute noch einmal.",
    Text.PROVIDER_DOWN: "Ich erreiche meinen Anbieter gerade nicht. Bitte versuch es in ein paar Minuten noch einmal.",
    Text.TOOLS_LOGIN: (
        "Ich musste ohne die Werkzeuge von {server} auskommen: Er verlangt eine Anmeldung. Einen Schlüssel oder Token "
        "von ihm, den mein Besitzer in meinen Einstellungen einträgt, kann ich benutzen, aber mich nicht mit einem "
        "Browser anmelden (OAuth)."
    ),
    Text.TOOLS_KEY: (
        "Ich musste ohne die Werkzeuge von {server} auskommen: Er weist seine Zugangsdaten zurück. Mein Besitzer muss "
        "gültige eintragen."
    ),
    Text.MENU_HELP: "Was ich kann",
    Text.MENU_RESET: "Vergessen, was in diesem Chat gesagt wurde",
    Text.MENU_STOP: "Aufhören zu antworten",
    Text.MENU_WHOAMI: "Wer du für mich bist",
    Text.MENU_MODEL: "Welches Modell antwortet",
    Text.MENU_USAGE: "Was dieser Chat verbraucht hat",
}
