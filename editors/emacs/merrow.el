;;; merrow.el --- Workflows written as Mermaid flowcharts  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "27.1") (eglot "1.8"))

;;; Commentary:

;; A mode with colours for *.mmd and *.mermaid, the language server by Eglot, and commands:
;;   M-x merrow-run     run the workflow of this file, ask for its inputs, and show what it gives
;;   M-x merrow-stop    stop the runs and evaluations of this file
;;   M-x merrow-compile show the workflow of this file as a Python program
;;   M-x merrow-revise  the run of this file that goes on continues as the file is now
;;   M-x merrow-accept-revision   write what the run became into the file, beside what was typed meanwhile
;;   M-x merrow-evaluate      evaluate the workflow of this file on a data set, and show the report
;;   M-x merrow-evaluations   choose an evaluation of this file and show its report
;;   M-x merrow-plan          plan a workflow for a task (or for the region), choose a plan, and show it as a new file
;;   M-x merrow-save-as-case  make a case of a run and show it in its cases file

;;; Code:

(require 'eglot)
(require 'subr-x)

(defvar merrow-font-lock-keywords
  `(("^[ \t]*%%.*$" 0 font-lock-comment-face t)
    (,(regexp-opt '("flowchart" "graph" "subgraph" "end" "direction" "class" "classDef" "style" "linkStyle" "click") 'symbols)
     . font-lock-keyword-face)
    (,(regexp-opt '("TD" "TB" "BT" "LR" "RL") 'symbols) . font-lock-constant-face)
    (,(regexp-opt '("PROBLEM" "RETURN" "ENTRY_POINT" "Interface") 'symbols) . font-lock-builtin-face)
    ("|\\([^|\n]*\\)|" 1 font-lock-variable-name-face t)
    (":::\\([[:alnum:]_]+\\)" 1 font-lock-type-face)
    ("[\"\\[(]\\(Custom\\|AnswerGenerate\\|CustomCodeGenerate\\|Programmer\\|ScEnsemble\\|MdEnsemble\\|Test\\|Review\\|Revise\\|Format\\|Call\\|Pass\\|Select\\|Loop\\|Map\\)\\>"
     1 font-lock-function-name-face t))
  "Colours of workflows.")

;;;###autoload
(define-derived-mode merrow-mode prog-mode "Merrow"
  "Major mode for workflows written as Mermaid flowcharts."
  (setq-local comment-start "%% ")
  (setq-local comment-end "")
  (setq-local font-lock-defaults '(merrow-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(?:mmd\\|mermaid\\)\\'" . merrow-mode))
(add-hook 'merrow-mode-hook #'eglot-ensure)

;;;###autoload
(define-derived-mode merrow-cases-mode conf-colon-mode "Merrow Cases"
  "Major mode for the cases of a workflow, NAME.cases.yaml.")

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.cases\\.yaml\\'" . merrow-cases-mode))
(add-hook 'merrow-cases-mode-hook #'eglot-ensure)

(defclass merrow-server (eglot-lsp-server) ()
  :documentation "Merrow's language server, which may ask for the inputs of a run.")
(add-to-list 'eglot-server-programs
             '((merrow-mode (merrow-cases-mode :language-id "yaml")) . (merrow-server "merrow" "serve")))

(cl-defmethod eglot-client-capabilities ((_server merrow-server))
  (plist-put (copy-sequence (cl-call-next-method)) :experimental '(:merrowInput t)))

(cl-defmethod eglot-handle-request
  ((_server merrow-server) (_method (eql merrow/input)) &key name title type last &allow-other-keys)
  "Ask for the value of an input; quitting answers that there is none."
  (condition-case nil
      (read-string (format "%s (%s): " (or title name) (or type "Text")) last)
    (quit nil)))

(defun merrow--execute (command arguments done)
  "Have the server carry out COMMAND with ARGUMENTS about this file, and call DONE with its answer."
  (let ((server (eglot-current-server))
        (here (current-buffer)))
    (unless server (user-error "Merrow's language server does not run here; M-x eglot starts it"))
    (jsonrpc-async-request
     server :workspace/executeCommand
     (list :command command
           :arguments (vector (append (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri)) arguments)))
     :timeout 86400
     :success-fn (lambda (result) (with-current-buffer here (funcall done result)))
     :error-fn (lambda (problem) (message "Merrow: %s" (plist-get problem :message))))))

(defvar merrow--last-run nil "The id of the run that was shown last.")

(defun merrow--show (result)
  "Show the RESULT of a run."
  (setq merrow--last-run (plist-get result :run))
  (with-current-buffer (get-buffer-create "*merrow*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (format "Run %s %s\n" (plist-get result :run) (plist-get result :status)))
      (let ((problem (plist-get result :error)))
        (when (stringp problem) (insert "\n" problem "\n")))
      (cl-loop for (name value) on (plist-get result :outputs) by #'cddr
               do (insert (format "\n%s\n%s\n" (substring (symbol-name name) 1)
                                  (if (stringp value) value (json-encode value))))))
    (goto-char (point-min))
    (special-mode)
    (display-buffer (current-buffer))))

;;;###autoload
(defun merrow-run ()
  "Run the workflow of this file, ask for its inputs, and show what it gives."
  (interactive)
  (merrow--execute "merrow.run" '(:ask t) #'merrow--show))

(defun merrow-stop ()
  "Stop the runs of this file."
  (interactive)
  (merrow--execute "merrow.cancel" nil (lambda (_result) (message "Merrow: stopped"))))

;;;###autoload
(defun merrow-preview ()
  "Show the workflow of this file in a browser, as it is while you type."
  (interactive)
  (let ((server (eglot-current-server)))
    (unless server (user-error "Merrow's language server does not run here; M-x eglot starts it"))
    (jsonrpc-async-request
     server :merrow/preview (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri))
     :success-fn (lambda (page) (browse-url (plist-get page :url)))
     :error-fn (lambda (problem) (message "Merrow: %s" (plist-get problem :message))))))

;;;###autoload
(defun merrow-compile ()
  "Show the workflow of this file as a Python program."
  (interactive)
  (merrow--execute
   "merrow.compile" nil
   (lambda (program)
     (with-current-buffer (get-buffer-create (format "*%s*" (plist-get program :name)))
       (let ((inhibit-read-only t))
         (erase-buffer)
         (insert (plist-get program :text))
         (goto-char (point-min))
         (python-mode)
         (setq buffer-read-only t)
         (display-buffer (current-buffer)))))))

;;;###autoload
(defun merrow-revise ()
  "Have the run of this file that goes on continue as the file is now.
The server tells what became of it."
  (interactive)
  (merrow--execute "merrow.revise" nil #'ignore))

;;;###autoload
(defun merrow-accept-revision ()
  "Write what the run of this file became into it, beside what was typed meanwhile.
Where both changed the same lines, show what the run became."
  (interactive)
  (merrow--execute
   "merrow.acceptRevision" nil
   (lambda (result)
     (cond ((not (eq (plist-get result :accepted) t))
            (with-current-buffer (get-buffer-create "*merrow revision*")
              (let ((inhibit-read-only t))
                (erase-buffer)
                (insert (plist-get result :text)))
              (goto-char (point-min))
              (special-mode)
              (display-buffer (current-buffer)))
            (message "Merrow: %s Nothing was written." (plist-get result :why)))
           ((eql (plist-get result :edits) 0) (message "Merrow: the file has all of it already"))
           (t (message "Merrow: the file is what the run became"))))))

;;;###autoload
(defun merrow-evaluate (dataset gold metric)
  "Evaluate the workflow of this file on DATASET, with the field GOLD as the right answer and METRIC.
Leave GOLD and METRIC empty for a published data set, or where a TOML file beside the data names them."
  (interactive
   (list (expand-file-name (read-file-name "Data set: " nil nil t))
         (read-string "Field with the right answer (empty: as the data say): ")
         (completing-read "Metric (empty: as the data say): " '("exact" "contains" "numeric" "choice" "f1" "math" "judge"))))
  (merrow--execute
   "merrow.evaluate"
   (append (list :dataset dataset)
           (unless (string-empty-p gold) (list :gold gold))
           (unless (string-empty-p metric) (list :metric metric)))
   (lambda (result) (merrow--show-evaluation (plist-get result :evaluation)))))

(defun merrow--show-evaluation (id)
  "Show the report of the evaluation ID."
  (merrow--execute
   "merrow.showEvaluation" (list :id id)
   (lambda (report)
     (with-current-buffer (get-buffer-create "*merrow evaluation*")
       (let ((inhibit-read-only t))
         (erase-buffer)
         (insert (plist-get report :text) "\n"))
       (goto-char (point-min))
       (special-mode)
       (display-buffer (current-buffer))))))

;;;###autoload
(defun merrow-evaluations ()
  "Choose an evaluation of this file and show its report."
  (interactive)
  (merrow--execute
   "merrow.evaluations" nil
   (lambda (found)
     (let ((choices (mapcar (lambda (one)
                              (cons (format "%s  %s  %s  %s" (plist-get one :evaluation) (plist-get one :status)
                                            (or (plist-get one :score) "no score")
                                            (file-name-nondirectory (plist-get one :dataset)))
                                    (plist-get one :evaluation)))
                            found)))
       (if (null choices)
           (message "Merrow: this workflow was not evaluated yet")
         (merrow--show-evaluation (cdr (assoc (completing-read "Evaluation: " choices nil t) choices))))))))

(defun merrow--new-file ()
  "The name of a file for a plan that does not exist yet."
  (let ((name "plan.mmd") (number 1))
    (while (or (file-exists-p name) (get-file-buffer name))
      (setq number (1+ number)
            name (format "plan-%d.mmd" number)))
    (expand-file-name name)))

(defun merrow--any-server ()
  "A server of Merrow that runs, else one that is started for a new workflow: a task belongs to no file."
  (or (cl-loop for servers being the hash-values of eglot--servers-by-project
               thereis (cl-find-if (lambda (one) (object-of-class-p one 'merrow-server)) servers))
      (with-current-buffer (find-file-noselect (merrow--new-file))
        (let ((eglot-sync-connect 30))
          (apply #'eglot--connect (eglot--guess-contact))))))

(defun merrow--plan-label (one result)
  "What is to be read of the plan ONE in RESULT."
  (let ((places (plist-get one :places)) (all (plist-get result :requirements)))
    (format "%d. %d tasks in %d steps; expected %d of %d (score %.4g), paper %d, code %d%s"
            (plist-get one :rank) (length (plist-get one :tasks)) (plist-get (plist-get one :metrics) :depth)
            (plist-get places :expected) (length (plist-get result :plans))
            (plist-get (plist-get (plist-get one :figures) :expected) :score)
            (plist-get places :paper) (plist-get places :code)
            (if (vectorp all)
                (format "; covers %d of %d requirements" (- (length all) (length (plist-get one :missing))) (length all))
              ""))))

(defun merrow--choose-plan (result)
  "Let the user choose one of the plans in RESULT, and show it as a new file."
  (mapc (lambda (notice) (message "Merrow: %s" notice)) (plist-get result :notices))
  (mapc (lambda (one)
          (message "Merrow: plan %d can't be used: %s" (plist-get one :candidate)
                   (mapconcat #'identity (plist-get one :problems) " ")))
        (plist-get result :refused))
  (let ((choices (mapcar (lambda (one) (cons (merrow--plan-label one result) (plist-get one :text)))
                         (plist-get result :plans))))
    (when choices
      (let ((text (cdr (assoc (completing-read "Plan: " choices nil t) choices))))
        (find-file (merrow--new-file))
        (insert text)
        (goto-char (point-min))))))

;;;###autoload
(defun merrow-plan (task)
  "Plan a workflow for TASK, by default the region; choose one of the plans and show it as a new file."
  (interactive
   (list (if (use-region-p)
             (buffer-substring-no-properties (region-beginning) (region-end))
           (read-string "Task: "))))
  (jsonrpc-async-request
   (merrow--any-server) :workspace/executeCommand
   (list :command "merrow.plan" :arguments (vector (list :task task)))
   :timeout 86400
   :success-fn #'merrow--choose-plan
   :error-fn (lambda (problem) (message "Merrow: %s" (plist-get problem :message)))))

;;;###autoload
(defun merrow-save-as-case (run)
  "Make a case of RUN, the last one that was shown if empty, and show it in its cases file."
  (interactive (list (read-string "Run: " merrow--last-run)))
  (merrow--execute
   "merrow.saveAsCase" (list :run run)
   (lambda (saved)
     (find-file (eglot--uri-to-path (plist-get saved :uri)))
     (revert-buffer t t t)
     (goto-char (point-min))
     (forward-line (plist-get (plist-get (plist-get saved :range) :start) :line)))))

(provide 'merrow)
;;; merrow.el ends here
