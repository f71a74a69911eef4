package main

import (
	"go/ast"
	"go/token"
)

// A function is one that is declared, or a literal outside of any.
type function struct {
	file              *file
	name, at          string
	lines, complexity int
}

// functions returns those of the tree's code.
func (t *tree) functions() (list []function) {
	for _, f := range t.of(code) {
		add := func(n ast.Node, name string) {
			first, last := t.set.PositionFor(n.Pos(), false).Line, t.set.PositionFor(n.End(), false).Line
			list = append(list, function{f, name, t.at(n.Pos()), last - first + 1, complexity(n)})
		}
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				add(d, nameOf(d))
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if _, ok := n.(*ast.FuncLit); ok {
					add(n, "func literal")
					return false
				}
				return true
			})
		}
	}
	return list
}

// nameOf is a function's name, with its receiver's type in front.
func nameOf(d *ast.FuncDecl) string {
	if base := receiver(d); base != "" {
		return base + "." + d.Name.Name
	}
	return d.Name.Name
}

// receiver is the base type of a method's receiver; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	for x := d.Recv.List[0].Type; ; {
		switch t := x.(type) {
		case *ast.ParenExpr:
			x = t.X
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// complexity is the cyclomatic complexity of a function, with that of the literals in it.
func complexity(f ast.Node) int {
	sum := 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			sum++
		case *ast.CaseClause:
			if n.List != nil {
				sum++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				sum++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				sum++
			}
		}
		return true
	})
	return sum
}
