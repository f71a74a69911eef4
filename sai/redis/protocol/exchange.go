package protocol

import (
	"fmt"
	"strings"

	"tamtam/swss"
)

// An Exchange is a request that syncd has executed, and its answer. In a recording each is a line of three words,
// separated by tabs: operation, key and body, as in ASIC_DB. The answer's line follows, and begins with a tab. A
// request without an answer has no such line.
type Exchange struct {
	Request swss.Entry
	Answer  swss.Entry // zero if the client expected no answer
}

// String returns the lines of an exchange.
func (e Exchange) String() string {
	text := recordLine(e.Request)
	if e.Answer != (swss.Entry{}) {
		text += "\t" + recordLine(e.Answer)
	}
	return text
}

func recordLine(e swss.Entry) string { return e.Op + "\t" + e.Key + "\t" + e.Body + "\n" }

// ParseExchanges decodes a recording.
func ParseExchanges(text string) ([]Exchange, error) {
	var list []Exchange
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		rest, isAnswer := strings.CutPrefix(line, "\t")
		words := strings.SplitN(rest, "\t", 3)
		if len(words) != 3 || isAnswer && (len(list) == 0 || list[len(list)-1].Answer != swss.Entry{}) {
			return nil, fmt.Errorf("sairedis: line %d of a recording: %.80q", i+1, line)
		}
		e := swss.Entry{Op: words[0], Key: words[1], Body: words[2]}
		if isAnswer {
			list[len(list)-1].Answer = e
		} else {
			list = append(list, Exchange{Request: e})
		}
	}
	return list, nil
}
