package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/dropreport"
	"tamtam/tam/flymon"
	"tamtam/tam/ifa"
	"tamtam/tam/record"
)

// extensions are the objects for which SAI has no type.
type extensions struct {
	*core
	used     map[string]int // objects, by name
	acls     *acls          // whose counters are read by label
	marks    *marks
	wants    map[uint32]*markFlow // by index of flows
	sketches *sketches
	plans    *plans
	clamps   *clamps
}

func newExtensions(c *core, a *acls) *extensions {
	return &extensions{
		core: c, used: map[string]int{}, acls: a,
		marks: &marks{core: c}, sketches: &sketches{core: c, owners: map[string]*sketch{}}, plans: &plans{core: c},
		wants:  map[uint32]*markFlow{},
		clamps: &clamps{core: c, labelled: map[string][]config.ID{}},
	}
}

// maxWindows is how many windows may exist at a time.
const maxWindows = 16

// newExtension returns the extension of a name for an object with an id; nil if the chip has none.
func (xs *extensions) newExtension(name string, id config.ID) extension {
	switch {
	case name == tailstamp.ObjectCounters:
		return &window{acls: xs.acls}
	case name == ifa.ObjectCounters && xs.prof.TAMInts > 0:
		return &ifaWindow{acls: xs.acls}
	case name == altmark.ObjectFlows && xs.prof.AltMark.Flows > 0:
		return &markWindow{of: xs.marks}
	case name == altmark.ObjectProfile && xs.prof.AltMark.Profiles > 0:
		return &markProfile{of: xs.marks, lane: -1}
	case name == altmark.ObjectFlow && xs.prof.AltMark.Flows > 0:
		return &markFlow{acls: xs.acls, by: xs.wants}
	}
	if x := xs.newReportWindow(name); x != nil {
		return x
	}
	if x := xs.plans.newExtension(name, id); x != nil {
		return x
	}
	if x := xs.clamps.newExtension(name, id); x != nil {
		return x
	}
	return xs.sketches.newExtension(name)
}

// extensionNames returns the extensions that chips may have, whether or not this one does.
func extensionNames() []string {
	return slices.Concat([]string{tailstamp.ObjectCounters, tailstamp.ObjectClamp, tailstamp.ObjectSYNs,
		ifa.ObjectCounters, dropreport.ObjectReports,
		altmark.ObjectProfile, altmark.ObjectFlows, altmark.ObjectFlow},
		flymon.Objects(), recordExtensions())
}

// left returns how many objects of the name there is room for, 0 for extensions that the chip does not
// have.
func (xs *extensions) left(name string) uint64 {
	switch xs.newExtension(name, config.None).(type) {
	case nil:
		return 0
	case *markProfile:
		return uint64(xs.prof.AltMark.Profiles) - uint64(xs.used[name])
	case *markFlow:
		return uint64(xs.prof.AltMark.Flows) - uint64(xs.used[name])
	case *sketch:
		return xs.sketches.maxTasks() - uint64(xs.used[name])
	case *plan:
		return uint64(xs.prof.TableRecord.Plans) - uint64(xs.used[name])
	case *clamp:
		return uint64(xs.prof.MSSClamps) - uint64(xs.used[name])
	}
	windows := 0
	for name, n := range xs.used {
		if name != altmark.ObjectProfile && name != flymon.ObjectTask && name != record.ObjectPlan &&
			name != tailstamp.ObjectClamp && name != altmark.ObjectFlow {
			windows += n
		}
	}
	return uint64(maxWindows - windows)
}

// available is how many objects of an extension the chip has room for in all: an orch that starts
// again asks while its former ones are there. Of windows it is what is left.
func (xs *extensions) available(name string) uint64 {
	switch name {
	case altmark.ObjectFlows, altmark.ObjectFlow:
		return uint64(xs.prof.AltMark.Flows)
	case altmark.ObjectProfile:
		return uint64(xs.prof.AltMark.Profiles)
	case flymon.ObjectTask:
		return xs.sketches.maxTasks()
	case record.ObjectPlan:
		return uint64(xs.prof.TableRecord.Plans)
	case tailstamp.ObjectClamp:
		return uint64(xs.prof.MSSClamps)
	case flymon.ObjectGroups:
		return uint64(xs.prof.FlyMon.Groups + xs.prof.FlyMon.Spliced)
	}
	return xs.left(name)
}

func (xs *extensions) extensionKind() *kind {
	const t, entry = sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry
	return &kind{
		max: maxWindows + profile.MarkLanes + flymon.MaxGroups*flymon.MaxTasks + xs.prof.TableRecord.Plans +
			xs.prof.MSSClamps + xs.prof.AltMark.Flows,
		attrs: []sai.AttrID{sai.GenericProgrammableAttrObjectName, entry},
		create: func(o *object) error {
			name := o.extensionName()
			x := xs.newExtension(name, o.id())
			if x == nil {
				return refuse("create", t, sai.GenericProgrammableAttrObjectName,
					sai.StatusNotSupported, "no extension %q, of %v the chip has those that it has room for",
					name, extensionNames())
			}
			if xs.left(name) == 0 {
				return refuse("create", t, sai.GenericProgrammableAttrObjectName,
					sai.StatusInsufficientResources, "no room for one more %s", name)
			}
			text, _ := o.attr(entry).(sai.Bytes)
			if err := x.apply(text); err != nil {
				return refuse("create", t, entry, sai.StatusInvalidParameter, "%v", err)
			}
			xs.used[name]++
			o.self = x
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			text, _ := a.Value.(sai.Bytes)
			if err := o.self.(extension).apply(text); err != nil {
				return badValue(a, sai.StatusInvalidParameter, "%v", err)
			}
			return nil
		},
		remove: func(o *object) error {
			o.self.(extension).leave()
			xs.used[o.extensionName()]--
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != entry {
				return nil
			}
			return o.self.(extension).read()
		},
	}
}

func (o *object) extensionName() string {
	name, _ := o.attr(sai.GenericProgrammableAttrObjectName).(sai.Bytes)
	return string(name)
}
