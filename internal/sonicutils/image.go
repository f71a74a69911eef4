package main

// entryPoints are the console programs of sonic-utilities, as MODULE:FUNCTION.
var entryPoints = map[string]string{
	"acl-loader": "acl_loader.main:cli", "config": "config.main:config", "counterpoll": "counterpoll.main:cli",
	"crm": "crm.main:cli", "dump": "dump.main:dump", "pfc": "pfc.main:cli", "pfcwd": "pfcwd.main:cli",
	"show": "show.main:cli", "sonic-clear": "clear.main:cli",
}

// programs replace those of a SONiC image that concern the machine, not the switch.
var programs = map[string]string{
	"sudo":      "#!/bin/sh\nwhile [ \"$1\" = -E ] || [ \"$1\" = -n ]; do shift; done\nexec \"$@\"\n",
	"systemctl": "#!/bin/sh\n[ \"$1\" != is-active ] || echo active\n",
	"docker":    "#!/bin/sh\nexit 1\n",
	"python":    "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n",
	"sonic-db-cli": `#!/usr/bin/python3
import sys, redis
from swsscommon.swsscommon import SonicDBConfig
name, *command = sys.argv[1:]
answer = redis.Redis(db=SonicDBConfig.getDbId(name), decode_responses=True).execute_command(*command)
if isinstance(answer, (list, tuple, set)):
    answer = "\n".join(map(str, answer))
print("" if answer is None else answer)
`,
}

// stubs are Python modules for hardware that the switch does not have.
var stubs = map[string]string{
	"sonic_platform_base/__init__.py": "",
	"sonic_platform_base/module_base.py": "class ModuleBase:\n    MODULE_STATUS_OFFLINE = \"Offline\"\n" +
		"    MODULE_STATUS_ONLINE = \"Online\"\n    MODULE_TYPE_DPU = \"DPU\"\n",
	"sonic_platform_base/sonic_sfp/__init__.py":      "",
	"sonic_platform_base/sonic_sfp/sfputilhelper.py": "class SfpUtilHelper:\n    pass\n",
	"ijson.py": "import json\ndef kvitems(f, prefix):\n    return json.load(f).items()\n" +
		"def items(f, prefix):\n    data = json.load(f)\n    return data if prefix else [data]\n",
}
