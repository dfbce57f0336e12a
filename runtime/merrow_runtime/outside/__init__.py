"""Tools outside of Merrow: sessions with servers of the Model Context Protocol, whose package is imported only for them."""
