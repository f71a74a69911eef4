package outputs

import (
	"bytes"
	"fmt"
)

// Raw is a gRPC codec for messages that are encoded already, as in spools.
type Raw struct{}

// Name implements encoding.Codec.
func (Raw) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (Raw) Marshal(v any) ([]byte, error) {
	data, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not bytes", v)
	}
	return data, nil
}

// Unmarshal implements encoding.Codec.
func (Raw) Unmarshal(data []byte, v any) error {
	at, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no place for bytes", v)
	}
	*at = bytes.Clone(data)
	return nil
}
