// Command openapi checks OpenAPI 3.0 descriptions by the rules of kin-openapi. Usage: openapi FILE...
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: openapi FILE...")
		os.Exit(2)
	}
	code := 0
	for _, file := range os.Args[1:] {
		doc, err := openapi3.NewLoader().LoadFromFile(file)
		if err == nil {
			err = doc.Validate(context.Background())
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			code = 1
			continue
		}
		fmt.Printf("%s: OpenAPI %s, %d paths, %d schemas: valid\n", file, doc.OpenAPI, doc.Paths.Len(),
			len(doc.Components.Schemas))
	}
	os.Exit(code)
}
