" Colours for Merrow's workflows: Mermaid flowcharts with YAML above them.
if exists('b:current_syntax')
  finish
endif

syntax include @mermaidYaml syntax/yaml.vim
unlet! b:current_syntax
syntax region mermaidFrontMatter start=/\%1l^---\s*$/ end=/^---\s*$/ keepend contains=@mermaidYaml
syntax region mermaidComment start=/^\s*%%/ end=/$/ oneline
syntax match mermaidSuppression /merrow: ignore\(-file\)\?\[[^]]*\]/ contained containedin=mermaidComment
syntax keyword mermaidKeyword flowchart graph subgraph end direction class classDef style linkStyle click
syntax keyword mermaidDirection TD TB BT LR RL
syntax keyword mermaidInterface PROBLEM RETURN ENTRY_POINT Interface
syntax keyword mermaidOperator Custom AnswerGenerate CustomCodeGenerate Programmer ScEnsemble MdEnsemble Test Review Revise Format
syntax keyword mermaidOperator Call Pass Select Decision Loop Map
syntax match mermaidArrow /[<xo]\?\(--\+\|==\+\|-\.\+-\)[->ox]*\|\~\~\~/
syntax region mermaidText start=/"/ end=/"/ contains=mermaidOperator
syntax region mermaidLabel start=/|/ end=/|/ oneline contains=mermaidText
syntax match mermaidClass /:::[[:alnum:]_]\+/

highlight default link mermaidComment Comment
highlight default link mermaidSuppression SpecialComment
highlight default link mermaidKeyword Keyword
highlight default link mermaidDirection Constant
highlight default link mermaidInterface Special
highlight default link mermaidOperator Function
highlight default link mermaidArrow Operator
highlight default link mermaidText String
highlight default link mermaidLabel Identifier
highlight default link mermaidClass Type

let b:current_syntax = 'mermaid'
