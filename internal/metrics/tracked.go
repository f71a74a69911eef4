package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"strings"
)

// mostBytes is the maximum size of a file under version control.
const mostBytes = 1 << 20

// largeFiles are the files that may be larger.
var largeFiles = map[string]string{
	"yang/tamyang/zz_generated.go": "the Go code of all YANG modules, which a generator writes into one file",
}

// programs are the first bytes of built programs and libraries.
var programs = map[string]string{
	"\x7fELF": "ELF", "MZ\x90\x00": "PE", "\xcf\xfa\xed\xfe": "Mach-O", "\xce\xfa\xed\xfe": "Mach-O",
	"\xca\xfe\xba\xbe": "Mach-O or Java", "\x00asm": "WebAssembly", "!<ar": "archive of objects",
}

// A checkout is a folder that git may track.
type checkout struct{ fs.FS }

// tracked returns the names of the tracked files. It returns false if git cannot list them, as in a copy of the tree
// without its history.
func (checkout) tracked() (names []string, ok bool) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return nil, false
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), true
}

// trackedFiles returns the names of the files under version control, or of all files if these are unknown.
func trackedFiles(root fs.FS) (names []string, err error) {
	if c, ok := root.(checkout); ok {
		if names, ok := c.tracked(); ok {
			return names, nil
		}
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path.Base(name) == ".git":
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// unwanted returns the tracked files that are too large, or are built programs.
func unwanted(root fs.FS) (list []finding, err error) {
	names, err := trackedFiles(root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		size, start, err := look(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		if what := programs[start]; what != "" {
			list = append(list, finding{name, "built program (" + what + ")", size})
		} else if size > mostBytes && largeFiles[name] == "" {
			list = append(list, finding{name, fmt.Sprintf("file of more than %d bytes", mostBytes), size})
		}
	}
	return list, nil
}

// look returns the size of a file and its first bytes, as many as the keys of programs have.
func look(root fs.FS, name string) (size int, start string, err error) {
	f, err := root.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() { // a link to a folder, or another repository
		return 0, "", err
	}
	first := make([]byte, 4)
	n, err := io.ReadFull(f, first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return int(info.Size()), string(first[:n]), err
}
