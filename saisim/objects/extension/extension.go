package extension

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/burst"
	"tamtam/tam/dropreport"
	"tamtam/tam/flymon"
	"tamtam/tam/ifa"
	"tamtam/tam/record"
)

// An Area makes the objects for which SAI has no type.
type Area struct {
	*Chip
	// Used counts the existing objects, by name. The caller that makes and removes objects maintains it.
	Used     map[string]int
	acls     ACLs // for counters by label
	marks    *marks
	wants    map[uint32]*markFlow // by index of flows
	sketches *sketches
	plans    *plans
	clamps   *clamps
}

// New returns the area of a chip without objects.
func New(c *Chip, a ACLs) *Area {
	return &Area{
		Chip: c, Used: map[string]int{}, acls: a,
		marks: &marks{Chip: c}, sketches: &sketches{Chip: c, owners: map[string]*sketch{}}, plans: &plans{Chip: c},
		wants:  map[uint32]*markFlow{},
		clamps: &clamps{Chip: c, labelled: map[string][]config.ID{}},
	}
}

// maxWindows is the maximum number of windows at a time.
const maxWindows = 16

// Object returns a new object of a name, with an id. It returns nil if the chip has no extension of that name.
func (xs *Area) Object(name string, id config.ID) Object {
	switch {
	case name == tailstamp.ObjectCounters:
		return &window{of: xs.Chip, acls: xs.acls}
	case name == ifa.ObjectCounters && xs.Profile.TAMInts > 0:
		return &ifaWindow{of: xs.Chip, acls: xs.acls}
	case name == burst.Object:
		return &burstWindow{of: xs.Chip}
	case name == altmark.ObjectFlows && xs.Profile.AltMark.Flows > 0:
		return &markWindow{of: xs.marks}
	case name == altmark.ObjectProfile && xs.Profile.AltMark.Profiles > 0:
		return &markProfile{of: xs.marks, lane: -1}
	case name == altmark.ObjectFlow && xs.Profile.AltMark.Flows > 0:
		return &markFlow{of: xs.Chip, acls: xs.acls, by: xs.wants}
	}
	if x := xs.newReportWindow(name); x != nil {
		return x
	}
	if x := xs.plans.object(name, id); x != nil {
		return x
	}
	if x := xs.clamps.object(name, id); x != nil {
		return x
	}
	return xs.sketches.object(name)
}

// Names returns the extensions that chips may have, including those that this chip lacks.
func Names() []string {
	return slices.Concat([]string{tailstamp.ObjectCounters, tailstamp.ObjectClamp, tailstamp.ObjectSYNs,
		ifa.ObjectCounters, dropreport.ObjectReports, burst.Object,
		altmark.ObjectProfile, altmark.ObjectFlows, altmark.ObjectFlow},
		flymon.Objects(), recordObjects())
}

// Left returns how many more objects of the name fit. It is zero for extensions that the chip does not have.
func (xs *Area) Left(name string) uint64 {
	switch xs.Object(name, config.None).(type) {
	case nil:
		return 0
	case *markProfile:
		return uint64(xs.Profile.AltMark.Profiles) - uint64(xs.Used[name])
	case *markFlow:
		return uint64(xs.Profile.AltMark.Flows) - uint64(xs.Used[name])
	case *sketch:
		return xs.sketches.maxTasks() - uint64(xs.Used[name])
	case *plan:
		return uint64(xs.Profile.TableRecord.Plans) - uint64(xs.Used[name])
	case *clamp:
		return uint64(xs.Profile.MSSClamps) - uint64(xs.Used[name])
	}
	windows := 0
	for name, n := range xs.Used {
		if name != altmark.ObjectProfile && name != flymon.ObjectTask && name != record.ObjectPlan &&
			name != tailstamp.ObjectClamp && name != altmark.ObjectFlow {
			windows += n
		}
	}
	return uint64(maxWindows - windows)
}

// Available returns the chip's total capacity for objects of an extension. A restarted orch queries it while its former
// objects still exist. For windows, it is the remaining capacity.
func (xs *Area) Available(name string) uint64 {
	switch name {
	case altmark.ObjectFlows, altmark.ObjectFlow:
		return uint64(xs.Profile.AltMark.Flows)
	case altmark.ObjectProfile:
		return uint64(xs.Profile.AltMark.Profiles)
	case flymon.ObjectTask:
		return xs.sketches.maxTasks()
	case record.ObjectPlan:
		return uint64(xs.Profile.TableRecord.Plans)
	case tailstamp.ObjectClamp:
		return uint64(xs.Profile.MSSClamps)
	case flymon.ObjectGroups:
		return uint64(xs.Profile.FlyMon.Groups + xs.Profile.FlyMon.Spliced)
	}
	return xs.Left(name)
}

// Max returns the maximum number of objects of all names.
func (xs *Area) Max() uint32 {
	p := &xs.Profile
	return maxWindows + profile.MarkLanes + flymon.MaxGroups*flymon.MaxTasks + p.TableRecord.Plans + p.MSSClamps +
		p.AltMark.Flows
}
