"""Chinese, in simplified characters."""

from assistant.texts.keys import Text

SENTENCES = {
    Text.HELLO: "你好！给我发消息，我就会回答。发送 /help 查看我还能做什么。",
    Text.HELP: (
        "给我发消息，我就会回答。在群组里请提及我或回复我。\n\n"
        "/reset：忘记这个聊天里说过的话\n"
        "/stop：停止回答\n"
        "/model：由哪个模型回答\n"
        "/usage：这个聊天的用量\n"
        "/whoami：你在我这里的身份\n"
        "/help：显示这个列表"
    ),
    Text.FORGOTTEN: "好了：我已经忘记这个聊天里说过的话。",
    Text.FORGOTTEN_BUT_REMINDERS: "好了：我已经忘记这个聊天里说过的话。这里设好的提醒仍然保留。",
    Text.WHOAMI: "你是 {name}，你的 Telegram ID 是 {user}，这个聊天的 ID 是 {chat}。",
    Text.MODEL: "我的回答来自 {model}。",
    Text.USAGE: (
        "这个聊天的用量（按 UTC 日期）：\n"
        "今天：{today_answers} 次回答，输入 {today_in} 个词元，输出 {today_out} 个\n"
        "本月：{month_answers} 次回答，输入 {month_in} 个词元，输出 {month_out} 个\n"
        "记忆（用于总结较早的对话）：今天 {today_memory} 个 token，本月 {month_memory} 个"
    ),
    Text.STOPPED: "已停止。",
    Text.NOTHING_TO_STOP: "我现在没有在回答。",
    Text.UNKNOWN_COMMAND: "我不认识这个命令。发送 /help 查看可用的命令。",
    Text.PAIRED_FIRST: "你好！你现在是我的主人，我不会回答其他人。给我发消息，或查看 /help。",
    Text.PAIRED: "你好！我们已经配对，从现在起我会回答你。给我发消息，或查看 /help。",
    Text.ALREADY_PAIRED: "我们已经配对了，直接给我发消息即可。给别人的链接对他们仍然有效。",
    Text.DEAD_CODE: (
        "这个链接已经失效：它已被使用，或已过期。请索取新的链接。如果你是我的主人而你没有用过它，那就是别人用了："
        "请在 Berth 里我的页面的 People 处创建一个替换所有人的链接。"
    ),
    Text.CODE_IN_GROUP: "这里的所有人都能看到这个代码，所以我已将它作废。请创建新的链接，并在与我的私聊中打开。",
    Text.STRANGER: "抱歉，我的主人没有把你（ID {user}）列入我的聊天名单。",
    Text.STRANGER_UNPAIRED: (
        "抱歉，我只和已配对的人聊天，而你（ID {user}）还没有配对。请向我的主人索取链接。"
        "如果你就是主人：链接在 Berth 里我的页面上。"
    ),
    Text.ONLY_TEXT: "我可以阅读文字、照片、PDF 和文本文件，也能听语音消息。这是别的东西。",
    Text.CANNOT_HEAR: "我听不了这个：我的模型提供商无法转写它。请写给我。",
    Text.HEARD_NOTHING: "我没有听到任何话。请再说一遍，或者写给我。",
    Text.CANNOT_SEE: "我的模型没有接受这张照片或这个文件。请向我描述它，或发送其中的文字。",
    Text.FILE_TOO_LARGE: "这对我来说太大了：一条消息我最多可以读取 {most} MB。",
    Text.FILE_LOST: "我无法从 Telegram 获取这个文件。请再发一次。",
    Text.ONE_AT_A_TIME: "消息太多，我一次回答不完。请先等我的回答。",
    Text.TOO_OFTEN: "一分钟内的消息超过了我在这里可以回答的数量。请在 {seconds} 秒后继续。",
    Text.MESSAGE_TOO_LONG: "这条消息有 {length} 个字符，而我最多可以阅读 {most} 个。请缩短它。",
    Text.OUT_OF_TIME: "我在这里停下了：一次回答最多可用 {seconds} 秒。",
    Text.REMINDER: "⏰ 提醒：{what}",
    Text.REMINDER_LATE: "⏰ 提醒：{what}\n\n这条提醒晚了：原定时间是 {when}。",
    Text.NO_WORDS: "我的模型给出了空的回答。请换一种说法再问。",
    Text.BROKEN: "回答时出了问题。请再试一次。",
    Text.BROKEN_OFF: "我的模型服务商在这里中断了。",
    Text.INTERRUPTED: "我正在被停止，没能答完。请稍后再问。",
    Text.REFUSED: "模型提供商没有接受这条消息。请缩短它，或用 /reset 重新开始。",
    Text.BUDGET_REACHED: "我的预算已用完。从 {day}（UTC）起我会再次回答。",
    Text.BUDGET_SHORT: "这可能会超出我剩余的预算。请一次少问一些，或用 /reset 重新开始。",
    Text.PROVIDER_KEY: "我无法回答：模型提供商拒绝了我的 API 密钥。我的主人需要换一个有效的密钥。",
    Text.PROVIDER_CREDIT: "我无法回答：模型提供商说余额已用完。我的主人需要充值。",
    Text.PROVIDER_MODEL: "我无法回答：模型提供商不提供我的模型。我的主人需要另选一个。",
    Text.PROVIDER_BUSY: "模型提供商现在很忙。请一分钟后再试。",
    Text.PROVIDER_DOWN: "我现在连接不上模型提供商。请几分钟后再试。",
    Text.TOOLS_LOGIN: (
        "我没能使用 {server} 的工具：它要求登录。我可以使用主人在我的设置中填写的密钥或令牌，"
        "但无法通过浏览器登录（OAuth）。"
    ),
    Text.TOOLS_KEY: "我没能使用 {server} 的工具：它拒绝了凭据。我的主人需要填写有效的凭据。",
    Text.MENU_HELP: "我能做什么",
    Text.MENU_RESET: "忘记这个聊天里说过的话",
    Text.MENU_STOP: "停止回答",
    Text.MENU_WHOAMI: "你在我这里的身份",
    Text.MENU_MODEL: "由哪个模型回答",
    Text.MENU_USAGE: "这个聊天的用量",
}
