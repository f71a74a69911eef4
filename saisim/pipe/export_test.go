package pipe

// UserField returns the value of a user field for the packet in lane 0.
func (c *Compiled) UserField(p *PHV, name string) uint64 {
	f := c.fields[name]
	return p.W[f.word][0] >> f.shift & f.mask()
}
