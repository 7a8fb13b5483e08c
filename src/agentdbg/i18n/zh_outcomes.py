"""Chinese for what the engines say of a replay that runs or has ended: verdicts, reasons, answers, effects."""

from __future__ import annotations

from typing import Final

OUTCOMES: Final[dict[str, str]] = {
    # reasons of verdicts
    "identical: every step, lane, input, argument, result and state agrees": (
        "完全一致：每个步骤、通道、输入、参数、结果和状态都相符"
    ),
    "identical under {count} rule: every step, lane, input, argument, result and state agrees": (
        "在 {count} 条规则下一致：每个步骤、通道、输入、参数、结果和状态都相符"
    ),
    "identical under {count} rules: every step, lane, input, argument, result and state agrees": (
        "在 {count} 条规则下一致：每个步骤、通道、输入、参数、结果和状态都相符"
    ),
    "identical but for what was edited ({edits})": "除修改之处外一致（{edits}）",
    "edited before: {edits}": "此前修改过：{edits}",
    "a person used pdb in it": "有人在其中使用过 pdb",
    "identical from step {step}, restored": "从步骤 {step} 起一致（已恢复）",
    "what was before is not compared": "之前的内容没有比较",
    "restored at step {step}: {_reason}": "在步骤 {step} 恢复：{_reason}",
    "looked at from step {step} on, fast-forwarded to there": "从步骤 {step} 开始检查，之前快进",
    "on the way to step {step}, where all has to agree: {_reason}": (
        "在到达步骤 {step} 的途中（必须全部一致）：{_reason}"
    ),
    "step {step}, {what}: expected {expected}, got {_got}": "步骤 {step}，{what}：应为 {expected}，实为 {_got}",
    "step {step}, {what}: {path} expected {expected}, got {_got}": (
        "步骤 {step}，{what}：{path} 应为 {expected}，实为 {_got}"
    ),
    "the runs differ": "两个运行不同",
    "the call as recorded": "如记录的调用",
    "agrees as far as the record goes": "在记录的范围内一致",
    "agrees as far as the record goes, to step {step}, {what}": "在记录的范围内一致，到步骤 {step}（{what}）为止",
    "stopped by a person": "被人停止",
    "stopped by a person, after step {step}, {what}": "被人停止，在步骤 {step}（{what}）之后",
    "stopped by a person, in step {step}, {what}": "被人停止，在步骤 {step}（{what}）中",
    "stopped by a person before the agent started": "在智能体启动之前被人停止",
    "the program did not end in time": "程序没有按时结束",
    "the program did not end in time, after step {step}, {what}": "程序没有按时结束，在步骤 {step}（{what}）之后",
    "the program did not end in time, in step {step}, {what}": "程序没有按时结束，在步骤 {step}（{what}）中",
    "the program did not reach the agent in time": "程序没有按时到达智能体",
    "the child {_how} before the agent returned": "智能体返回之前，子进程{_how}",
    "the child {_how} before the agent returned, after step {step}, {what}": (
        "智能体返回之前，子进程{_how}，在步骤 {step}（{what}）之后"
    ),
    "the child {_how} before the agent returned, in step {step}, {what}": (
        "智能体返回之前，子进程{_how}，在步骤 {step}（{what}）中"
    ),
    "the child {_how} before the agent started": "智能体启动之前，子进程{_how}",
    "ended with exit status {status}": "以退出状态 {status} 结束",
    "was ended by {signal}": "被 {signal} 终止",
    "was ended by signal {number}": "被信号 {number} 终止",
    "{effect} at {frame}, under step {step}, {what}": "{effect}，位于 {frame}，在步骤 {step}（{what}）之下",
    "{effect} at {frame}, outside every step": "{effect}，位于 {frame}，在所有步骤之外",
    "{effect} at {frame}, before the agent started": "{effect}，位于 {frame}，在智能体启动之前",
    "the program cannot be loaded: {why}": "无法加载程序：{why}",
    "the entry point is no agent any more": "入口已不再是智能体",
    "bodies are missing that say what the run came to: {names}": "缺少说明运行结果的内容：{names}",
    "the model could not be asked ({why}): nothing is known of the change": "无法询问模型（{why}）：改动的效果未知",
    "the agent ended on a call that was not made: {name} ({_why})": (
        "智能体因一个没有执行的调用而结束：{name}（{_why}）"
    ),
    "only free text to compare: cannot tell": "只有自由文本可比较：无法判断",
    "declare a final state or return structure": "请声明最终状态或返回结构化数据",
    "the present code makes the same model inputs and calls": "现在的代码产生相同的模型输入和调用",
    "no model was asked": "没有询问模型",
    "path, final state and answer agree with the record": "路径、最终状态和回答与记录一致",
    "path and answer agree with the record": "路径和回答与记录一致",
    "final state {before} → {after}": "最终状态 {before} → {after}",
    "path {before} → {after}": "路径 {before} → {after}",
    "arguments of {what}": "{what} 的参数",
    "error {before} → {after}": "错误 {before} → {after}",
    "structured answer": "结构化回答",
    "first difference: {_where}": "首个差异：{_where}",
    "samples disagree, {stability}: {_how}": "样本不一致，{stability}：{_how}",
    "start earlier, --from {step}": "请从更早处开始：--from {step}",
    "start from the beginning, --from 1": "请从头开始：--from 1",
    "{what}: {_why}, where the record has step {step}, {called}": (
        "{what}：{_why}，记录在此处是步骤 {step}（{called}）"
    ),
    "replaced by a person: {what}": "被人替换：{what}",
    # differences
    "asked more often than recorded": "请求次数多于记录",
    "not in the record": "不在记录中",
    "tool {name}: {_why}": "tool {name}：{_why}",
    "model {name}: {_why}": "model {name}：{_why}",
    "http {name}: {_why}": "http {name}：{_why}",
    "approval {name}: {_why}": "approval {name}：{_why}",
    "(the record has no further step here)": "（记录在此没有更多步骤）",
    "(the run ended)": "（运行已结束）",
    "(the run ended with {error})": "（运行以 {error} 结束）",
    "(no such lane)": "（没有该通道）",
    "(never started)": "（从未启动）",
    "no outcome": "没有结果",
    "recorded in another lane": "记录在另一通道",
    "recorded as step {step}": "记录为步骤 {step}",
    "order": "顺序",
    "arguments": "参数",
    "result": "结果",
    "status": "状态",
    "input": "输入",
    "state": "状态",
    "nearest recorded call: step {step}, {called}, {_what}": "最接近的记录调用：步骤 {step}，{called}，{_what}",
    "{path}: {there} there, {here} here": "{path}：那里是 {there}，这里是 {here}",
    "the replay ends": "回放结束",
    "the agent gets a refusal": "智能体得到拒绝",
    # notes
    "a person had code evaluated in the program ({count} times): it may have done what it did because of that": (
        "有人在程序中执行过代码（{count} 次）：程序的行为可能因此而来"
    ),
    "the order in which threads handed things to each other was not kept": "没有保持线程之间交接的顺序",
    "completion order was not kept: an outcome was released after a wait": "没有保持完成顺序：有一个结果在等待后放行",
    "the recorded program started a process that the replay did not: {what}": (
        "记录的程序启动过一个回放没有启动的进程：{what}"
    ),
    "the program wrote to the replay's own channel ({count} lines), which was not believed": (
        "程序写入了回放自己的通道（{count} 行），未予采信"
    ),
    "loaded, and able to get past an audit hook: {names}": "已加载、且能绕过审计钩子：{names}",
    "it changed, in its own view alone, what the recorded run was not seen to change: {places}": (
        "它只在自己的视图中改变了记录的运行没有改变的内容：{places}"
    ),
    "outside data has drifted ({names}): what comes of that is not the doing of a fix": (
        "外部数据已漂移（{names}）：由此产生的变化与修复无关"
    ),
    "{count} served values are redacted: what is live got the placeholders": (
        "{count} 个由记录回答的值已脱敏：真实调用得到的是占位符"
    ),
    "not used: the edit of step {step}, {what}: the program did not come to it": (
        "未用到：步骤 {step}（{what}）的修改：程序没有到达那里"
    ),
    "it went on to make calls that are refused: {calls}": "它继续发出被拒绝的调用：{calls}",
    "see the findings": "见发现",
    "a person decided so": "由人决定",
    "in the sandbox, with a person's yes": "在沙箱中，经人同意",
    "in doubt, settled: it was {_done}": "存疑，已确定：{_done}",
    "not done": "没有执行",
    "in doubt: its status look-up failed with {error}": "存疑：状态查询失败（{error}）",
    # the six answers
    "neither run names a version": "两个运行都没有写明版本",
    "only one of the runs names versions": "只有一个运行写明了版本",
    "{count} versions agree": "{count} 个版本一致",
    "no documents or reads were recorded": "没有记录文档或读取",
    "no tool calls were recorded": "没有记录工具调用",
    "no tool results were recorded": "没有记录工具结果",
    "{count} of {of} documents or reads compared, all agree": "比较了 {of} 个文档或读取中的 {count} 个，全部一致",
    "{count} of {of} tool calls compared, all agree": "比较了 {of} 个工具调用中的 {count} 个，全部一致",
    "{count} of {of} tool results compared, all agree": "比较了 {of} 个工具结果中的 {count} 个，全部一致",
    "final answer and final state agree": "最终回答和最终状态一致",
    "final answer agrees": "最终回答一致",
    "no final state was declared": "没有声明最终状态",
    "the final answer": "最终回答",
    "not reached": "没有到达",
    "no intended change was declared": "没有声明预期变化",
    "nothing is known to have changed": "没有已知的变化",
    "the intended place did not change": "预期的位置没有变化",
    "step {step} {name} (only in the first run)": "步骤 {step} {name}（仅在第一个运行中）",
    "step {step} {name} (only in the second run)": "步骤 {step} {name}（仅在第二个运行中）",
    # effects
    "file attributes changed {what}": "文件属性被改变 {what}",
    "file written {what}": "写入文件 {what}",
    "file removed {what}": "删除文件 {what}",
    "file renamed {what}": "重命名文件 {what}",
    "file truncated {what}": "截断文件 {what}",
    "directory made {what}": "创建目录 {what}",
    "directory removed {what}": "删除目录 {what}",
    "link made {what}": "创建链接 {what}",
    "database opened {what}": "打开数据库 {what}",
    "connected to {what}": "连接 {what}",
    "sent to {what}": "发送到 {what}",
    "process started {what}": "启动进程 {what}",
    "shell command run {what}": "运行 shell 命令 {what}",
    "signal sent to {what}": "发送信号到 {what}",
    # layers
    "audit": "审计钩子",
    "network namespace": "网络命名空间",
    "mount namespace": "挂载命名空间",
    "copy-on-write view": "写时复制视图",
    "privileges given up": "已放弃特权",
    # while it runs
    "the replay is not over yet": "回放尚未结束",
    "no call is held": "没有调用被暂停",
    "the recorded run makes no call at or after step {step}": "记录的运行在步骤 {step} 及之后没有调用",
    "step {step}, {what}, has been replayed already": "步骤 {step}（{what}）已经回放过",
    "the replay stands before step {step} already": "回放已经停在步骤 {step} 之前",
    "{action} cannot be done with a call of {mode} replay here": "这里不能对该调用执行 {action}（{mode}）",
    "there is {names}": "有 {names}",
    "that is more than {count} characters of JSON": "超过 {count} 个字符的 JSON",
    "arguments are a mapping, by name": "参数是按名称的映射",
    "{name} has no argument {unknown}: there is {names}": "{name} 没有参数 {unknown}：有 {names}",
    "that value cannot be encoded: {why}": "该值无法编码：{why}",
    "breakpoint": "断点",
    "pause": "暂停",
    "step": "单步",
    "run to": "运行到此",
    "error": "错误",
    "divergence": "偏离",
}
