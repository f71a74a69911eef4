package heap

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"
)

// Huge pages change no contents. Only the kernel may refuse them; an address outside of all memory is an error.
func TestUseHugePages(t *testing.T) {
	const size = 8 << 20
	b := bytes.Repeat([]byte{1, 2, 3, 4}, size/4)
	var refused *os.SyscallError
	if err := UseHugePages(reflect.ValueOf(b).Pointer()); err != nil && !errors.As(err, &refused) {
		t.Errorf("its own memory: %v, want huge pages or the kernel's refusal", err)
	}
	for i, x := range b {
		if x != byte(i%4+1) {
			t.Fatalf("byte %d is %d, want %d", i, x, i%4+1)
		}
	}
	if err := UseHugePages(0); err == nil || errors.Is(err, syscall.EINVAL) {
		t.Errorf("address 0: %v, want an error that no range contains it", err)
	}
}
