"""Chinese for what the engines say ahead of a replay: plan, edits, restoring, what stands in the way."""

from __future__ import annotations

from typing import Final

PLANS: Final[dict[str, str]] = {
    # what happens to a call
    "pinned to a record": "固定由一份记录回答",
    "pinned to a record that has no further call of it": "固定由一份记录回答，但其中没有更多此类调用",
    "before the checkpoint, and not in the record": "在检查点之前，且不在记录中",
    "before the checkpoint: {_how}": "在检查点之前：{_how}",
    "the same call": "相同的调用",
    "the same but for ids": "除标识外相同",
    "the call at this place": "此处的调用",
    "control: everything is served": "对照：全部由记录回答",
    "nothing differs up to here": "到此处为止没有差异",
    "models are called for real": "真实调用模型",
    "the same question: the recorded decision": "问题相同：采用记录的决定",
    "another question than recorded: a person is asked, nobody decides by default": (
        "问题与记录不同：询问人，默认无人决定"
    ),
    "declared to reach nothing outside": "声明为不触及外部",
    "no replay reaches its server: the recorded result of the same call": "回放不访问其服务器：相同调用的记录结果",
    "no replay reaches its server, and the record has no such call with its outcome": (
        "回放不访问其服务器，记录中也没有带结果的此调用"
    ),
    "declared to read only": "声明为只读取",
    "in the sandbox": "在沙箱中",
    "external, in the sandbox, with its recorded key: only with a person's yes": (
        "外部调用，在沙箱中，使用记录的幂等键：须有人同意"
    ),
    "the same call: its recorded result": "相同的调用：采用记录的结果",
    "in the sandbox, but without its recorded, non-derived key": "在沙箱中，但没有记录的、非派生的幂等键",
    "not in the record: its dry run": "不在记录中：演练",
    "external, not in the record, without a dry run": "外部调用，不在记录中，没有演练",
    "a write, not in the record, without a dry run": "写入，不在记录中，没有演练",
    "in doubt: its status look-up settles whether it was done": "存疑：由状态查询确定是否已执行",
    "in doubt: the record has no outcome, and the tool no status look-up": "存疑：记录中没有结果，工具也没有状态查询",
    "with another key its dry run if it has one, else refused": "换了键则演练（若有），否则拒绝",
    "with other arguments its dry run if it has one, else refused": "参数不同则演练（若有），否则拒绝",
    "its outcome was edited": "其结果被修改过",
    "its outcome, edited": "其结果，已修改",
    "its recorded error": "其记录的错误",
    "its recorded outcome": "其记录的结果",
    "the record has no outcome of it: the replay ends here": "记录中没有其结果：回放到此为止",
    "before the restored checkpoint: it is not made again": "在恢复的检查点之前：不再执行",
    "with edited arguments: {_reason}": "使用修改后的参数：{_reason}",
    # what to know before
    "nothing: the record has no entry point": "无：记录中没有入口",
    "{what} of {place}, with the Python of {image}": "{place} 的 {what}，使用 {image} 的 Python",
    "{what} of {place}, with {python}": "{place} 的 {what}，使用 {python}",
    "{what}, with {python}": "{what}，使用 {python}",
    "only the evidence tier is possible: open it, diff it, ask one of its model calls again": (
        "只能查看证据：打开、比较，或再次询问其中一个模型调用"
    ),
    "this user did not record the run: its code is started only when it is trusted (--trust)": (
        "此运行不是由当前用户记录的：只有信任它才会启动其代码（--trust）"
    ),
    "may be reached: nothing": "不能访问任何地址",
    "may be reached: {hosts}": "可以访问：{hosts}",
    "not served, so the guard stops it: {_effect} ({place})": (
        "没有记录可回答，因此会被防护阻止：{_effect}（{place}）"
    ),
    "{count} served values are redacted": "{count} 个由记录回答的值已脱敏",
    "{count} served values are redacted: a live model gets the placeholders": (
        "{count} 个由记录回答的值已脱敏：真实模型得到的是占位符"
    ),
    "started again, under the same guard: {words}": "在同样的防护下再次启动：{words}",
    "the audit hook alone: code below Python is not held": "只有审计钩子：Python 之下的代码不受约束",
    "{count} files that it wrote are not put back: no views": "它写过的 {count} 个文件不会复原：没有视图",
    "missing: {what}": "缺失：{what}",
    "body missing: {what}": "内容缺失：{what}",
    "start state not recorded: {path}": "没有记录起始状态：{path}",
    "start state is redacted: {path}": "起始状态已脱敏：{path}",
    "the interpreter {path} does not say what it has": "解释器 {path} 没有说明其环境",
    "Python is {now}, recorded with {before}": "Python 是 {now}，记录时为 {before}",
    "installed since: {names}": "记录之后安装：{names}",
    "package {name} {version} is not installed any more": "软件包 {name} {version} 已不再安装",
    "package {name} is {now}, recorded with {version}": "软件包 {name} 是 {now}，记录时为 {version}",
    "{path} is not as recorded": "{path} 与记录不同",
    "{path} is not there any more": "{path} 已不存在",
    "{path} cannot be read: {why}": "{path} 无法读取：{why}",
    "the commit is {now}, recorded with {before}": "提交是 {now}，记录时为 {before}",
    "commit {commit} is not in the repository at {place}: its files cannot be compared": (
        "{place} 的仓库中没有提交 {commit}：无法比较其文件"
    ),
    "variables that were set and are not: {names}": "记录时设置、现在没有的变量：{names}",
    "--env-file sets them": "可用 --env-file 设置",
    "secrets that were set and are not, a dummy stands for each: {names}": (
        "记录时设置、现在没有的密钥，各用一个假值代替：{names}"
    ),
    "and {count} more files": "另有 {count} 个文件",
    "and {count} more packages": "另有 {count} 个软件包",
    "{_what} (step {step}, {name})": "{_what}（步骤 {step}，{name}）",
    "{before} is {after} here": "{before} 在这里是 {after}",
    "code as recorded: {what}": "记录时的代码：{what}",
    "an exact replay runs them again": "精确回放会再次运行它们",
    # what stands in the way
    "the record has no entry point: no @agentdbg.agent call was its root, {more}": (
        "记录中没有入口：根不是 @agentdbg.agent 调用，也不是由 'agentdbg record' 启动的"
    ),
    "the recorded agent is a local function, which cannot be called again": "记录的智能体是局部函数，无法再次调用",
    "the agent's arguments cannot be read: {why}": "无法读取智能体的参数：{why}",
    "the recorded code: {_why}": "记录时的代码：{_why}",
    "run {run} was not recorded by this user, so its code is not started": (
        "运行 {run} 不是由当前用户记录的，因此不启动其代码"
    ),
    "the code in run {run} was not recorded by this user, so it is not run": (
        "运行 {run} 中的代码不是由当前用户记录的，因此不运行"
    ),
    "look at it with 'show', then say --trust": "先用 'show' 查看，再加上 --trust",
    "the kernel does not hold a replay here ({why}), so nothing was run: {_instead}": (
        "这里的内核无法约束回放（{why}），因此没有运行任何东西：{_instead}"
    ),
    "say --guard audit to run under the audit hook alone": "加上 --guard audit 可只在审计钩子下运行",
    "say --guard audit to run under the audit hook alone, or --in IMAGE to run it in a container": (
        "加上 --guard audit 可只在审计钩子下运行，或用 --in IMAGE 在容器中运行"
    ),
    "the container does not hold a replay ({why}), so nothing was run": (
        "容器无法约束回放（{why}），因此没有运行任何东西"
    ),
    "run {run} has no step {step}: it has steps 1 to {most}": "运行 {run} 没有步骤 {step}：它有步骤 1 到 {most}",
    "it was restored at step {step} of run {run} and has nothing of before: replay that one": (
        "它是从运行 {run} 的步骤 {step} 恢复的，没有之前的内容：请回放那一个"
    ),
    "{place} cannot be written: see {where}": "{place} 无法写入：见 {where}",
    "the recorded program is not there: {what}": "记录的程序不在那里：{what}",
    "--pin {tool}: run {run} has no call of that tool": "--pin {tool}：运行 {run} 没有该工具的调用",
    "cannot read the intent {text}: write KIND:NAME, KIND one of {kinds}": (
        "无法理解预期变化 {text}：请写 KIND:NAME，KIND 为 {kinds} 之一"
    ),
    "no sandbox {name}: none is declared": "没有沙箱 {name}：尚未声明",
    "no sandbox {name}: there is {names}": "没有沙箱 {name}：有 {names}",
    "declare [sandbox.{name}] with env, hosts and tools": "请声明 [sandbox.{name}]，包括 env、hosts 和 tools",
    "'{text}' is no mapping": "“{text}”不是映射",
    "use FROM=TO, as in /home/ann/shop=/srv/shop or {root}=/srv/shop": (
        "请写 FROM=TO，例如 /home/ann/shop=/srv/shop 或 {root}=/srv/shop"
    ),
    "{path} is no directory": "{path} 不是目录",
    "{path}, line {line}: use NAME=VALUE": "{path} 第 {line} 行：请写 NAME=VALUE",
    "{path}, line {line}: {name} steers the replay itself and cannot be set": (
        "{path} 第 {line} 行：{name} 控制回放本身，不能设置"
    ),
    "{path} is no text in UTF-8": "{path} 不是 UTF-8 文本",
    # edits
    "cannot read the edit {text}: write STEP:PATH=JSON, as in 4:result.amount=10": (
        "无法理解修改 {text}：请写 STEP:PATH=JSON，例如 4:result.amount=10"
    ),
    "cannot read the path {path}: write members and indexes, as in result.items[0].price": (
        "无法理解路径 {path}：请写成员和下标，例如 result.items[0].price"
    ),
    "{edit}: the run has steps 1 to {most}": "{edit}：此运行有步骤 1 到 {most}",
    "{edit}: {top} cannot be edited: there is result, arguments, documents, state": (
        "{edit}：{top} 不能修改：有 result、arguments、documents、state"
    ),
    "{edit}: step {step}, {what}, has no result to serve: {_why}": (
        "{edit}：步骤 {step}（{what}）没有可回答的结果：{_why}"
    ),
    "it is no call": "它不是调用",
    "it lies inside a call that is served as a whole": "它在一个整体由记录回答的调用之内",
    "{edit}: step {step} has no outcome in the record: it is in doubt": "{edit}：步骤 {step} 在记录中没有结果：存疑",
    "{edit}: step {step}, {what}, is no checkpoint": "{edit}：步骤 {step}（{what}）不是检查点",
    "{edit}: the state of step {step}: {_why}": "{edit}：步骤 {step} 的状态：{_why}",
    "the program makes it again on the way to there": "程序在到达途中会重新产生它",
    "it can be edited where the replay restores it (--from that step, --prefix restore)": (
        "可在回放恢复它的地方修改（--from 该步骤，--prefix restore）"
    ),
    "an exact replay has no outcome for other arguments: a regression replay can make the call with them": (
        "精确回放没有其他参数的结果：回归回放可以用它们执行该调用"
    ),
    "{edit}: the run was started as a program, it has no arguments but its command line": (
        "{edit}：此运行是作为程序启动的，除命令行外没有参数"
    ),
    "{edit}: that call has no result in the record": "{edit}：该调用在记录中没有结果",
    "{edit}: that call has no result, only an error": "{edit}：该调用没有结果，只有错误",
    "give it a whole one: result=…": "请给出完整的结果：result=…",
    "{edit}: what is recorded there is no JSON": "{edit}：那里记录的不是 JSON",
    "replace it whole: result=…": "请整体替换：result=…",
    "{edit}: the record has no {part} there": "{edit}：记录在那里没有 {part}",
    "{edit}: that result was streamed: {_why}": "{edit}：该结果是流式的：{_why}",
    "its pieces cannot say that: {why}": "它的片段无法表达：{why}",
    "{edit}: no call before step {step} returned that text, so nothing can serve it": (
        "{edit}：步骤 {step} 之前没有调用返回该文本，因此无法回答"
    ),
    # restoring
    "the state of checkpoint {name} (step {step}) cannot be restored: {_why}": (
        "检查点 {name}（步骤 {step}）的状态无法恢复：{_why}"
    ),
    "step {step} is no checkpoint but {what}: {_has}": "步骤 {step} 不是检查点，而是 {what}：{_has}",
    "the run has none": "此运行没有检查点",
    "checkpoints are steps {steps}": "检查点是步骤 {steps}",
    "it declares that nothing may go on from there ({why})": "它声明不能从那里继续（{why}）",
    "it does not declare that a run may go on from there (agentdbg.checkpoint(…, can_resume=True))": (
        "它没有声明可以从那里继续（agentdbg.checkpoint(…, can_resume=True)）"
    ),
    "the run was started as a program, and only an agent's function has a resume entry": (
        "此运行是作为程序启动的，只有智能体函数才有恢复入口"
    ),
    "the agent had no resume entry when it was recorded (@agentdbg.agent(resume=…))": (
        "记录时智能体没有恢复入口（@agentdbg.agent(resume=…)）"
    ),
    "its state was not recorded": "没有记录其状态",
    "its state cannot be read: {why}": "无法读取其状态：{why}",
    "its state cannot be decoded: {why}": "无法解码其状态：{why}",
    "it was made in a parallel section, lane {lane}": "它在并行部分中产生，通道 {lane}",
    "it was made inside step {step} ({name})": "它在步骤 {step}（{name}）之内产生",
    "it was made outside the agent": "它在智能体之外产生",
    "lane {lane} was open, and goes on at step {step} ({name})": (
        "通道 {lane} 当时未结束，在步骤 {step}（{name}）继续"
    ),
    "the agent had read from standard input before it": "智能体在此之前读取过标准输入",
    "step {step} ({name}) had no outcome yet: {what}": "步骤 {step}（{name}）当时还没有结果：{what}",
    "not restored: step {step}: {_effect} ({place})": "未恢复：步骤 {step}：{_effect}（{place}）",
    "step {start} lies behind checkpoint {name} (step {step}), which declares that nothing may go on {there}: {why}": (
        "步骤 {start} 在检查点 {name}（步骤 {step}）之后，该检查点声明不能从那里继续：{why}"
    ),
    "start earlier, or replay it --exact": "请从更早处开始，或用 --exact 回放",
    # containers
    "{engine} does not run: {problem}: start it, or say --guard audit": (
        "{engine} 没有运行：{problem}：请启动它，或使用 --guard audit"
    ),
    "there is no container engine on PATH ({names}): install one, or say --guard audit": (
        "PATH 上没有容器引擎（{names}）：请安装一个，或使用 --guard audit"
    ),
    "{engine} has no image {image}, and nothing is fetched by itself: {pull}, or build it": (
        "{engine} 没有镜像 {image}，也不会自动下载：{pull}，或自行构建"
    ),
    "container of {image}, without network": "{image} 的容器，无网络",
}
