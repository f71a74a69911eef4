package device

import "tamtam/saisim"

// Profile returns the chip profile that a name stands for.
func Profile(name string) (saisim.Profile, bool) {
	switch name {
	case "default":
		return saisim.DefaultProfile(), true
	case "small":
		return saisim.SmallProfile(), true
	}
	return saisim.Profile{}, false
}

// Profiles returns the names that [Profile] knows.
func Profiles() []string { return []string{"default", "small"} }
