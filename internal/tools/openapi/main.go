// Command openapi checks an OpenAPI 3.0 description by the rules of kin-openapi. Usage: openapi FILE.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapi FILE")
		os.Exit(2)
	}
	doc, err := openapi3.NewLoader().LoadFromFile(os.Args[1])
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	fmt.Printf("%s: OpenAPI %s, %d paths, %d schemas: valid\n", os.Args[1], doc.OpenAPI, doc.Paths.Len(), len(doc.Components.Schemas))
}
