;; Opens each file of $MERROW_DEFECTS with the documented set-up ($MERROW_SNIPPET) and applies the preferred action at its defect.
;; -Q leaves out the distribution's start files, so the folder of its packages is named here.
(require 'package)
(add-to-list 'package-directory-list "/usr/share/emacs/site-lisp/elpa")
(package-initialize)
(unless (locate-library "eglot") (princ "eglot is not installed; apt-get install elpa-eglot installs it\n") (kill-emacs 3))
(setq eglot-sync-connect 30 make-backup-files nil create-lockfiles nil eglot-send-changes-idle-time 0.05
      eglot-confirm-server-initiated-edits nil eglot-confirm-server-edits nil)
(load (getenv "MERROW_SNIPPET") nil t)

(defun merrow-wait (predicate what)
  (let ((end (+ (float-time) 30)) value)
    (while (and (not (setq value (funcall predicate))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or value (progn (princ (format "FAIL %s\n" what)) (kill-emacs 1)))))

(defun merrow-problem (code)
  (flymake-start)
  (seq-find (lambda (diagnostic)
              (string-match-p (regexp-quote code) (prin1-to-string (flymake-diagnostic-data diagnostic))))
            (flymake-diagnostics)))

(require 'json)
(seq-doseq (defect (let ((json-object-type 'plist)) (json-read-file (getenv "MERROW_DEFECTS"))))
  (let ((code (plist-get defect :code)) (file (plist-get defect :file)))
    (find-file file)
    ;; eglot-ensure waits for post-command-hook, which --batch never runs.
    (unless (eglot-managed-p) (call-interactively #'eglot))
    (merrow-wait #'eglot-managed-p "not managed")
    (merrow-wait (lambda () (merrow-problem code)) (format "no %s in %s" code file))
    (goto-char (point-min))
    (forward-line (1- (plist-get defect :line)))
    (forward-char (1- (plist-get defect :column)))
    (let* ((actions (append (eglot-code-actions (point) (point) nil) nil))
           (action (seq-find (lambda (one) (eq (plist-get one :isPreferred) t)) actions)))
      (unless action (princ (format "FAIL no preferred action in %s\n" file)) (kill-emacs 1))
      (eglot--apply-workspace-edit
       (plist-get (if (plist-get action :edit) action (jsonrpc-request (eglot-current-server) :codeAction/resolve action)) :edit))
      (eglot--signal-textDocument/didChange)
      (merrow-wait (lambda () (not (merrow-problem code))) (format "%s stayed in %s" code file))
      (princ (format "DONE %s\n" (plist-get action :title))))
    (save-buffer)))
(eglot-shutdown (eglot-current-server))
