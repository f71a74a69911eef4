package p4

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every JSON program under P4_JUDGE is read, or refused with a reason. The folder is not part of the tree; its README
// explains how it was made.
func TestJudgePrograms(t *testing.T) {
	dir := os.Getenv("P4_JUDGE")
	if dir == "" {
		t.Skip("P4_JUDGE is not set; want a folder with programs in BMv2 JSON")
	}
	read, refused := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		if _, err := ReadFile(path); err != nil {
			t.Log(err)
			refused++
		} else {
			read++
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("%v, %d programs", err, read)
	}
	t.Logf("%d read, %d refused", read, refused)
}
