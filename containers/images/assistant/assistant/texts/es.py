"""Spanish."""

from assistant.texts.keys import Text

SENTENCES = {
    Text.HELLO: "¡Hola! Escríbeme y te responderé. /help muestra qué más puedo hacer.",
    Text.HELP: (
        "Escríbeme y te responderé. En un grupo, mencióname o respóndeme.\n\n"
        "/reset: olvido lo que se dijo en este chat\n"
        "/stop: dejo de responder\n"
        "/model: qué modelo responde\n"
        "/usage: lo que ha usado este chat\n"
        "/whoami: quién eres para mí\n"
        "/help: esta lista"
    ),
    Text.FORGOTTEN: "Hecho: he olvidado lo que se dijo en este chat.",
    Text.FORGOTTEN_BUT_REMINDERS: (
        "Hecho: he olvidado lo que se dijo en este chat. Los recordatorios de este chat se mantienen."
    ),
    Text.WHOAMI: "Eres {name}, tu id de Telegram es {user} y el id de este chat es {chat}.",
    Text.MODEL: "Mis respuestas vienen de {model}.",
    Text.USAGE: (
        "En este chat, por días UTC:\n"
        "Hoy: {today_answers} respuestas, {today_in} tokens de entrada, {today_out} de salida\n"
        "Este mes: {month_answers} respuestas, {month_in} tokens de entrada, {month_out} de salida\n"
        "Para la memoria, para resumir lo dicho hace tiempo: {today_memory} tokens hoy, {month_memory} este mes"
    ),
    Text.STOPPED: "Detenido.",
    Text.NOTHING_TO_STOP: "Ahora mismo no estoy respondiendo a nada.",
    Text.UNKNOWN_COMMAND: "No conozco este comando. /help muestra los que conozco.",
    Text.PAIRED_FIRST: "¡Hola! Ahora eres mi dueño y no respondo a nadie más. Escríbeme o mira /help.",
    Text.PAIRED: "¡Hola! Ya estamos vinculados: desde ahora te respondo. Escríbeme o mira /help.",
    Text.ALREADY_PAIRED: "Ya estamos vinculados: escríbeme sin más. Un enlace para otra persona le sigue valiendo.",
    Text.DEAD_CODE: (
        "Este enlace ya no vale: se ha usado o es demasiado antiguo. Pide uno nuevo. Si eres mi dueño y no lo has "
        "usado, lo ha hecho otra persona: crea un enlace que sustituya a todos, en “People” de mi página en Berth."
    ),
    Text.CODE_IN_GROUP: (
        "Todos aquí podían leer este código, así que lo he anulado. Crea un enlace nuevo y ábrelo en un chat privado "
        "conmigo."
    ),
    Text.STRANGER: "Lo siento, mi dueño no te ha puesto (id {user}) en la lista de personas con las que hablo.",
    Text.STRANGER_UNPAIRED: (
        "Lo siento, solo hablo con personas vinculadas conmigo, y tú (id {user}) no lo estás. Pide un enlace a mi "
        "dueño. Si eres tú: está en mi página en Berth."
    ),
    Text.ONLY_TEXT: "Puedo leer texto, fotos, PDF y archivos de texto, y escuchar mensajes de voz. Esto es otra cosa.",
    Text.CANNOT_HEAR: "No puedo escuchar esto: mi proveedor no lo transcribe. Escríbemelo, por favor.",
    Text.HEARD_NOTHING: "No he oído palabras en esto. Dilo otra vez o escríbemelo, por favor.",
    Text.CANNOT_SEE: "Mi modelo no ha aceptado esta foto o archivo. Descríbemelo o envíame su texto, por favor.",
    Text.FILE_TOO_LARGE: "Es demasiado grande para mí: puedo leer hasta {most} MB en un mensaje.",
    Text.FILE_LOST: "No he podido obtener este archivo de Telegram. Envíalo de nuevo, por favor.",
    Text.ONE_AT_A_TIME: "Es más de lo que puedo responder a la vez. Espera primero mis respuestas, por favor.",
    Text.TOO_OFTEN: "Es más de lo que puedo responder aquí en un minuto. Sigue dentro de {seconds} s, por favor.",
    Text.MESSAGE_TOO_LONG: "Este mensaje tiene {length} caracteres y puedo leer {most}. Acórtalo, por favor.",
    Text.OUT_OF_TIME: "He parado aquí: una respuesta puede llevarme {seconds} s.",
    Text.REMINDER: "⏰ Recordatorio: {what}",
    Text.REMINDER_LATE: "⏰ Recordatorio: {what}\n\nLlega tarde: tocaba {when}.",
    Text.NO_WORDS: "Mi modelo ha dado una respuesta vacía. Pregunta con otras palabras, por favor.",
    Text.BROKEN: "Algo ha fallado mientras respondía. Inténtalo de nuevo, por favor.",
    Text.BROKEN_OFF: "Mi proveedor de modelos se ha interrumpido aquí.",
    Text.INTERRUPTED: "Me están deteniendo y no he podido terminar mi respuesta. Pregunta de nuevo más tarde.",
    Text.REFUSED: "Mi proveedor no ha aceptado este mensaje. Acórtalo o empieza de nuevo con /reset.",
    Text.BUDGET_REACHED: "He agotado mi presupuesto. Vuelvo a responder a partir del {day} (UTC).",
    Text.BUDGET_SHORT: (
        "Esto puede costar más de lo que queda de mi presupuesto. Pide menos de una vez o empieza de nuevo con /reset."
    ),
    Text.PROVIDER_KEY: "No puedo responder: mi proveedor rechaza mi clave de API. Mi dueño tiene que darme una válida.",
    Text.PROVIDER_CREDIT: "No puedo responder: mi proveedor dice que no queda saldo. Mi dueño tiene que recargarlo.",
    Text.PROVIDER_MODEL: "No puedo responder: mi proveedor no ofrece mi modelo. Mi dueño tiene que elegir otro.",
    Text.PROVIDER_BUSY: "Mi proveedor está saturado ahora mismo. Inténtalo de nuevo dentro de un minuto.",
    Text.PROVIDER_DOWN: "Ahora mismo no llego a mi proveedor. Inténtalo de nuevo dentro de unos minutos.",
    Text.TOOLS_LOGIN: (
        "He tenido que prescindir de las herramientas de {server}: pide iniciar sesión. Puedo usar una clave o un "
        "token suyo, que mi dueño introduce en mis ajustes, pero no puedo iniciar sesión con un navegador (OAuth)."
    ),
    Text.TOOLS_KEY: (
        "He tenido que prescindir de las herramientas de {server}: rechaza su credencial. Mi dueño tiene que "
        "introducir una válida."
    ),
    Text.MENU_HELP: "Qué puedo hacer",
    Text.MENU_RESET: "Olvidar lo que se dijo en este chat",
    Text.MENU_STOP: "Dejar de responder",
    Text.MENU_WHOAMI: "Quién eres para mí",
    Text.MENU_MODEL: "Qué modelo responde",
    Text.MENU_USAGE: "Lo que ha usado este chat",
}
