"""How fast Merrow reads and checks workflows, beside other readers of Mermaid in the same run."""
