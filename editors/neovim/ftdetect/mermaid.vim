autocmd BufRead,BufNewFile *.mmd,*.mermaid setfiletype mermaid
