package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// ReadPlan decodes a plan from JSON of at most [MaxJSON] bytes, as `tamtam plan --format json` writes it. An error
// names the field, its value and what would be valid. It does not check the plan's graph or its bits. The users of the
// graph and [Plan.Marks] do.
func ReadPlan(text []byte) (*Plan, error) {
	if len(text) > MaxJSON {
		return nil, fmt.Errorf("a plan of %d bytes, want at most %d", len(text), MaxJSON)
	}
	var p Plan
	err := json.Unmarshal(text, &p)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return nil, fmt.Errorf("plan: it is a JSON %s, want %s", wrong.Value, kindWords(wrong.Type))
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("plan: %q is a JSON %s, want %s", wrong.Field, wrong.Value, kindWords(wrong.Type))
	case err != nil:
		return nil, fmt.Errorf("plan: %w", err)
	}
	return &p, nil
}

// kindWords describes the valid values of a field in JSON's terms.
func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Uint, reflect.Int64, reflect.Uint64, reflect.Uint32, reflect.Uint8:
		return fmt.Sprintf("a whole number that %s holds", t.Kind())
	}
	return "an object"
}
